import { readFile, stat } from 'node:fs/promises';
import type { LinuxBlockIo, LinuxThrottleDevice } from '@criquet/runtime-containerd';
import { failedPrecondition } from '../errors.js';
import { toDevice } from '../spec/device-node.js';
import { annotatedClass, type AnnotatedContainer } from './annotated-class.js';
import type { BlockIoClasses, BlockIoParameters } from './block-io-document.js';
import { matchPaths } from './match-paths.js';

const ANNOTATIONS = {
  container: 'io.kubernetes.cri.blockio-class',
  pod: 'blockio.resources.beta.kubernetes.io/pod',
  podContainerPrefix: 'blockio.resources.beta.kubernetes.io/container.',
};

export interface BlockIoOptions {
  /** The file of classes, see `parseBlockIoClasses`; "" where the node has none. */
  readonly configFile: string;
  /** Whether a class is as good as none where the node has no usable file. */
  readonly ignoreNotEnabled: boolean;
}

/**
 * The block IO limits of a container's class: OCI's `linux.resources.blockIO`, undefined for none. File and devices are looked at for
 * every container that is in a class: a device that was plugged in later counts.
 *
 * @throws FAILED_PRECONDITION where the node has no classes (unless `ignoreNotEnabled`), or not this one.
 */
export async function blockIoClass(container: AnnotatedContainer, options: BlockIoOptions): Promise<LinuxBlockIo | undefined> {
  const name = annotatedClass(ANNOTATIONS, container);
  if (name === undefined || name === '') return undefined;
  const shown = JSON.stringify(name);
  const classes = await readClasses(options.configFile).catch((error: Error) => {
    if (options.ignoreNotEnabled) return undefined;
    throw failedPrecondition(`block IO class ${shown}: block IO classes are not enabled on this node: ${error.message}`);
  });
  if (classes === undefined) return undefined;
  const parameters = Object.hasOwn(classes, name) ? classes[name] : undefined;
  if (parameters === undefined) throw failedPrecondition(`block IO class ${shown} is not in ${options.configFile}`);
  return limits(parameters);
}

async function readClasses(file: string): Promise<BlockIoClasses> {
  if (file === '') throw new Error('resources.blockio_config_file is not set');
  try {
    // With its YAML parser it takes 8 MB of memory, which nodes without such a file are spared.
    const { parseBlockIoClasses } = await import('./block-io-document.js');
    return parseBlockIoClasses(await readFile(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
}

const THROTTLES = {
  throttleReadBpsDevice: 'ThrottleReadBps',
  throttleWriteBpsDevice: 'ThrottleWriteBps',
  throttleReadIOPSDevice: 'ThrottleReadIOPS',
  throttleWriteIOPSDevice: 'ThrottleWriteIOPS',
} as const;

type DeviceNumbers = Pick<LinuxThrottleDevice, 'major' | 'minor'>;

async function limits(list: readonly BlockIoParameters[]): Promise<LinuxBlockIo> {
  const weight = list.flatMap(({ Devices, Weight }) => (Devices === undefined && Weight !== undefined ? [Weight] : [])).at(-1);
  const onDevices = await Promise.all(list.map(async (item) => ({ item, devices: await blockDevices(item.Devices ?? []) })));
  /** For each device the last value that names it. */
  const perDevice = (key: 'Weight' | (typeof THROTTLES)[keyof typeof THROTTLES]): { device: DeviceNumbers; value: number }[] => {
    const found = new Map<string, { device: DeviceNumbers; value: number }>();
    for (const { item, devices } of onDevices) {
      const value = item[key];
      if (value === undefined) continue;
      for (const device of devices) found.set(`${device.major}:${device.minor}`, { device, value });
    }
    return [...found.values()];
  };
  const result: LinuxBlockIo = weight === undefined ? {} : { weight };
  const weights = perDevice('Weight');
  if (weights.length > 0) result.weightDevice = weights.map(({ device, value }) => ({ ...device, weight: value }));
  for (const [field, key] of Object.entries(THROTTLES) as [keyof typeof THROTTLES, (typeof THROTTLES)[keyof typeof THROTTLES]][]) {
    const rates = perDevice(key);
    if (rates.length > 0) result[field] = rates.map(({ device, value }) => ({ ...device, rate: value }));
  }
  return result;
}

/** What a pattern matches that is no block device, or is not there, is left out: one file serves many nodes. */
async function blockDevices(patterns: readonly string[]): Promise<DeviceNumbers[]> {
  const paths = (await Promise.all(patterns.map(matchPaths))).flat();
  const found = await Promise.all(
    paths.map(async (path) => {
      const stats = await stat(path, { bigint: true }).catch(() => undefined);
      const device = stats === undefined ? undefined : toDevice(stats, path);
      return device?.type === 'b' ? [{ major: device.major, minor: device.minor }] : [];
    }),
  );
  return found.flat();
}
