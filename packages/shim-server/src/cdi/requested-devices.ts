import type { ContainerConfig } from '@criquet/cri-api';
import { invalidArgument } from '../errors.js';
import { isQualifiedName } from './qualified-name.js';

/** Annotations of this prefix name CDI devices, separated by commas: what device plugins did before CRI had a field. */
const ANNOTATION_PREFIX = 'cdi.k8s.io/';

/** A CDI device that a container asks for, and where it does. */
export interface RequestedDevice {
  readonly field: string;
  readonly name: string;
}

/**
 * The CDI devices of a container, each once: those of `CDI_devices`, then those of the annotations `cdi.k8s.io/…`.
 *
 * @throws INVALID_ARGUMENT for what is no `vendor.com/class=name`.
 */
export function requestedDevices(config: Pick<ContainerConfig, 'CDIDevices' | 'annotations'>): RequestedDevice[] {
  const ofField = config.CDIDevices.map(({ name }, index) => ({ field: `config.CDI_devices[${index}].name`, name }));
  const ofAnnotations = Object.entries(config.annotations)
    .filter(([key]) => key.startsWith(ANNOTATION_PREFIX))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, value]) => value.split(',').map((name) => ({ field: `config.annotations[${JSON.stringify(key)}]`, name })));
  const devices = new Map<string, RequestedDevice>();
  for (const device of [...ofField, ...ofAnnotations]) {
    if (!isQualifiedName(device.name)) {
      throw invalidArgument(device.field, `${JSON.stringify(device.name)} is not a CDI device such as "vendor.com/class=name"`);
    }
    if (!devices.has(device.name)) devices.set(device.name, device);
  }
  return [...devices.values()];
}
