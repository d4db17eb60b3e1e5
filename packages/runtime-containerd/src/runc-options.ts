import type { Any } from './any.js';
import { CheckpointOptions, Options } from './gen/types/runc/options/oci.js';

/** Options of the runtime `io.containerd.runc.v2` (containerd.runc.v1.Options). Left out: the shim's default. */
export interface RuncOptions {
  /** runc's binary: a name in PATH or an absolute path. Default `runc`. */
  readonly binaryName?: string;
  /** runc's state directory. Default `/run/containerd/runc`. */
  readonly root?: string;
  /** `cgroupsPath` of the spec is `slice:prefix:name`. Default false. */
  readonly systemdCgroup?: boolean;
  /** cgroup v1 only: a cgroup for the shim itself. */
  readonly shimCgroup?: string;
  readonly noPivotRoot?: boolean;
  readonly noNewKeyring?: boolean;
  /** Owner of the pipes between shim and container: the host's ids of the container's root with a user namespace. */
  readonly ioUid?: number;
  readonly ioGid?: number;
  readonly criuImagePath?: string;
  readonly criuWorkPath?: string;
}

export const runcOptionsTypeUrl = 'containerd.runc.v1.Options';
export const checkpointOptionsTypeUrl = 'containerd.runc.v1.CheckpointOptions';

export function runcOptions(options: RuncOptions): Any {
  return { typeUrl: runcOptionsTypeUrl, value: Options.encode(Options.fromPartial(options)).finish() };
}

/** @throws TypeError when it is of another type */
export function decodeRuncOptions(any: Any): Required<RuncOptions> {
  if (any.typeUrl !== runcOptionsTypeUrl) throw new TypeError(`expected ${runcOptionsTypeUrl}, got ${any.typeUrl || 'nothing'}`);
  const { binaryName, root, systemdCgroup, shimCgroup, noPivotRoot, noNewKeyring, ioUid, ioGid, criuImagePath, criuWorkPath } =
    Options.decode(any.value);
  return { binaryName, root, systemdCgroup, shimCgroup, noPivotRoot, noNewKeyring, ioUid, ioGid, criuImagePath, criuWorkPath };
}

/** Options of `tasks.checkpoint` with runc (containerd.runc.v1.CheckpointOptions). */
export interface RuncCheckpointOptions {
  /** End the container after the checkpoint. */
  readonly exit?: boolean;
  readonly openTcp?: boolean;
  readonly externalUnixSockets?: boolean;
  readonly terminal?: boolean;
  readonly fileLocks?: boolean;
  readonly emptyNamespaces?: readonly string[];
  readonly cgroupsMode?: string;
  /** Write the images to this directory instead of the content store. */
  readonly imagePath?: string;
  readonly workPath?: string;
  readonly parentPath?: string;
}

export function checkpointOptions(options: RuncCheckpointOptions): Any {
  const message = CheckpointOptions.fromPartial({ ...options, emptyNamespaces: [...(options.emptyNamespaces ?? [])] });
  return { typeUrl: checkpointOptionsTypeUrl, value: CheckpointOptions.encode(message).finish() };
}
