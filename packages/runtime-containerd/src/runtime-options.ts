import type { Any } from './any.js';
import { Options } from './gen/types/runtimeoptions/v1/api.js';

/** Options of shims that are not runc's (runtimeoptions.v1.Options). */
export interface RuntimeOptions {
  /** How the shim reads the file at `configPath`; the shim defines it. */
  readonly typeUrl?: string;
  /** The shim's own configuration file. */
  readonly configPath?: string;
}

export const runtimeOptionsTypeUrl = 'runtimeoptions.v1.Options';

export function runtimeOptions(options: RuntimeOptions): Any {
  return { typeUrl: runtimeOptionsTypeUrl, value: Options.encode(Options.fromPartial(options)).finish() };
}

/** @throws TypeError when it is of another type */
export function decodeRuntimeOptions(any: Any): Required<RuntimeOptions> {
  if (any.typeUrl !== runtimeOptionsTypeUrl) throw new TypeError(`expected ${runtimeOptionsTypeUrl}, got ${any.typeUrl || 'nothing'}`);
  const { typeUrl, configPath } = Options.decode(any.value);
  return { typeUrl, configPath };
}
