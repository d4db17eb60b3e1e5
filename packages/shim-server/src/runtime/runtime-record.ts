import { decodeRuncOptions, decodeRuntimeOptions, decodeSpec, runcOptionsTypeUrl, runtimeOptionsTypeUrl, type Any, type ContainerRecord, type RuntimeSpec } from '@criquet/runtime-containerd';
import { goJson } from '../grpc/go-json.js';

/** What a containerd record says of how something runs, under the names that verbose answers of containerd's plugin have. */
export interface RuntimeRecord {
  readonly image: string;
  readonly snapshotKey: string;
  readonly snapshotter: string;
  readonly runtimeType: string;
  /** As the shim's options are called in containerd's configuration; null for those of a shim that is not known. */
  readonly runtimeOptions: Record<string, unknown> | null;
  readonly runtimeSpec: RuntimeSpec | null;
}

export function runtimeRecord({ image, snapshotKey, snapshotter, runtime, spec }: ContainerRecord): RuntimeRecord {
  return {
    image,
    snapshotKey,
    snapshotter,
    runtimeType: runtime.name,
    runtimeOptions: runtime.options === undefined ? null : runtimeOptions(runtime.options),
    runtimeSpec: spec === undefined ? null : decodeSpec(spec),
  };
}

function runtimeOptions(options: Any): Record<string, unknown> | null {
  switch (options.typeUrl) {
    case runcOptionsTypeUrl:
      return goJson(decodeRuncOptions(options));
    case runtimeOptionsTypeUrl:
      return goJson(decodeRuntimeOptions(options));
    default:
      return null;
  }
}
