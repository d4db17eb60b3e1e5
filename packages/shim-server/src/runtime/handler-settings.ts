import type { RuntimeSpec } from '@criquet/runtime-containerd';
import type { RuntimeHandlerConfig } from '../config/index.js';
import { loadBaseRuntimeSpec } from './base-runtime-spec.js';

/**
 * Checks what of a handler's settings no schema can, and reads the file among them. What depends on the node's kernel or on containerd is
 * not looked at.
 *
 * @param name the handler's
 * @throws Error naming the option
 */
export async function readHandlerSettings(name: string, settings: RuntimeHandlerConfig): Promise<{ baseSpec?: RuntimeSpec }> {
  const option = (key: string) => `runtime.handlers.${name}.${key}`;
  if (settings.privilegedWithoutHostDevicesAllDevicesAllowed && !settings.privilegedWithoutHostDevices) {
    throw new Error(`${option('privileged_without_host_devices_all_devices_allowed')}: needs privileged_without_host_devices`);
  }
  const { baseRuntimeSpec } = settings;
  return baseRuntimeSpec === '' ? {} : { baseSpec: await loadBaseRuntimeSpec(option('base_runtime_spec'), baseRuntimeSpec) };
}
