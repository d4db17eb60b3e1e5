import { PodSandboxConfig, type PodSandboxMetadata } from '@criquet/cri-api';
import { jsonCodec, withMetadata } from './record-codec.js';
import { sandboxShape } from './record-shapes.js';

/**
 *     creating ──> ready ──> stopped
 *         └──> failed
 *
 * `creating` is the intent: what the call is about to make is named, nothing need exist yet. `failed` is a creation whose undo
 * is owed; it is shown as not ready and goes away when the undo succeeds or somebody removes it.
 */
export type SandboxPhase = 'creating' | 'ready' | 'stopped' | 'failed';

/** Everything criquet knows of a sandbox; immutable, replaced on change. */
export interface SandboxRecord {
  readonly id: string;
  /** The name that its metadata makes; see {@link sandboxName}. */
  readonly name: string;
  readonly config: PodSandboxConfig;
  readonly configDigest: string;
  /** As asked for by the caller; "" is the default handler. */
  readonly runtimeHandler: string;
  /** The handler that it runs by: what was the default then, for a caller that named none. */
  readonly handler: string;
  /** Holds the pause process' root file system; "" for the built-in pause, which has no snapshot. */
  readonly snapshotter: string;
  /** The pause process' cgroup, as its runtime spec names it. */
  readonly cgroupsPath: string;
  readonly phase: SandboxPhase;
  /** Where the network namespace is pinned; "" for a pod on the host's network. */
  readonly netnsPath: string;
  /** Where the user namespace that owns the network namespace is pinned; absent where there is none of the pod's own, or no pin. */
  readonly usernsPath?: string;
  /** True until the network attachment is known to be gone: a CNI DEL is owed. */
  readonly networkAttached: boolean;
  /** The primary address first. */
  readonly ips: readonly string[];
  /** The SELinux level that was chosen for the pod, for example `s0:c12,c345`; absent where it names its own, or has no label. */
  readonly selinuxLevel?: string;
  /** The pause process, 0 when it does not run. */
  readonly pid: number;
  /** Unix time in nanoseconds. */
  readonly createdAt: bigint;
  /** Nothing of it is left to stop: its processes, addresses, namespaces and mounts are gone. */
  readonly ended?: boolean;
  /** RestorePod is not done yet: without the daemon that began it, sandbox and containers are taken back. */
  readonly restoring?: boolean;
}

/** The name a sandbox is reserved under: one sandbox lives under it at a time. */
export function sandboxName(metadata: PodSandboxMetadata): string {
  return [metadata.name, metadata.namespace, metadata.uid, metadata.attempt].join('_');
}

type Plain = Omit<SandboxRecord, 'config' | 'createdAt'> & { config: string; createdAt: string };

export const sandboxCodec = jsonCodec<SandboxRecord>(
  'criquet.sandbox',
  sandboxShape,
  (record) => ({
    ...record,
    config: Buffer.from(PodSandboxConfig.encode(record.config).finish()).toString('base64'),
    createdAt: String(record.createdAt),
  }),
  (plain: Plain) => ({
    ...plain,
    config: withMetadata(PodSandboxConfig.decode(Buffer.from(plain.config, 'base64'))),
    createdAt: BigInt(plain.createdAt),
  }),
);

/** The sandbox when its pause process has ended. */
export function stopped(record: SandboxRecord): SandboxRecord {
  return { ...record, phase: record.phase === 'failed' ? 'failed' : 'stopped', pid: 0 };
}
