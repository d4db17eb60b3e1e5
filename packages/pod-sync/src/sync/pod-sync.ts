import type { CriClient } from '@criquet/cri-api';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Manifest } from '../manifest/pod.js';
import { readNodeFacts, type NodeFacts } from '../node/node-facts.js';
import { followLog } from '../logs/follow-log.js';
import type { LogRecord } from '../logs/log-record.js';
import { chooseContainer } from '../status/default-container.js';
import { findPod, PodLookupError } from '../status/find-pod.js';
import { hasEnded, readAllPods, readPodRecord, type PodRecord } from '../status/pod-record.js';
import { podStatus, type PodStatus } from '../status/pod-status.js';
import type { ClusterDns } from '../translate/dns-config.js';
import { podLogDirectory, type TranslationOptions } from '../translate/sandbox-config.js';
import { systemMounter, type Mounter } from '../volumes/mount-command.js';
import { PodDirectory } from '../volumes/pod-directory.js';
import { tearDownPodDirectory } from '../volumes/tear-down.js';
import { BackOff } from './back-off.js';
import { CriCalls } from './cri-calls.js';
import type { StepName, SyncEventListener } from './events.js';
import { KeyedLock } from './keyed-lock.js';
import { killContainers } from './kill-container.js';
import { syncPass } from './sync-pass.js';
import type { SyncResult } from './sync-result.js';

export interface PodSyncOptions {
  readonly cri: CriClient;
  /** Where pods' files are kept: volumes, hosts files, termination messages. Default: /var/lib/criquet/kubelet. */
  readonly rootDir?: string;
  /** Where pods' log directories are made. Default: /var/log/pods. */
  readonly logRoot?: string;
  /** Where relative paths of Localhost seccomp profiles start. Default: /var/lib/kubelet/seccomp. */
  readonly seccompRoot?: string;
  /** Parent cgroup of pods, in the form of the runtime's cgroup driver. Default: left to the runtime. */
  readonly cgroupParent?: string;
  /** For `dnsPolicy: ClusterFirst`. Default: none; such pods get the machine's own DNS. */
  readonly clusterDns?: ClusterDns;
  /** Facts of the machine. Default: read from it at the first use. */
  readonly node?: NodeFacts;
  /** Told of every step, CRI call and wait. */
  readonly onEvent?: SyncEventListener;
  /** Makes mounts. Default: by mount(8) and umount(8), which need root. */
  readonly mounter?: Mounter;
}

/** What may cancel an operation. */
export interface Cancellable {
  readonly signal?: AbortSignal;
}

export interface WaitOptions extends Cancellable {
  /** Fail with the first part of a sync that fails instead of trying again with growing pauses. Default: false. */
  readonly failFast?: boolean;
}

export interface StopOptions extends Cancellable {
  /** Seconds between SIGTERM and SIGKILL; 0 kills at once. Default: the pod's terminationGracePeriodSeconds. */
  readonly graceSeconds?: number;
}

export interface RemoveOptions extends StopOptions {
  /** Stop the pod first when it runs. Default: false. */
  readonly force?: boolean;
}

export interface ExecOptions extends Cancellable {
  /** Default: the pod's default container. */
  readonly container?: string;
  /** Seconds after which the command is killed; 0: never. Default: 0. */
  readonly timeoutSeconds?: number;
}

export interface ExecResult {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exitCode: number;
}

export interface LogOptions extends Cancellable {
  /** Default: the pod's default container. */
  readonly container?: string;
  /** Begin with the last so many lines. Default: at the beginning. */
  readonly tail?: number;
  /** Go on until the container has ended. Default: false. */
  readonly follow?: boolean;
}

/** A pod that runs is not removed without force. */
export class PodRunningError extends Error {
  override readonly name = 'PodRunningError';
}

const MIN_POLL_MS = 50;
const MAX_POLL_MS = 500;

/**
 * SyncPod over a CRI endpoint: brings pods from their manifests into being, as a kubelet does, and takes them down.
 * Operations on one pod run one after the other, those on different pods beside one another.
 */
export class PodSync {
  private readonly listener: SyncEventListener;
  private readonly mounter: Mounter;
  private readonly rootDir: string;
  private readonly logRoot: string;
  private readonly crashes = new Map<string, BackOff>();
  private readonly pulls = new BackOff();
  private readonly passes = new Map<string, number>();
  private readonly locks = new KeyedLock();
  private node: Promise<NodeFacts> | undefined;

  constructor(private readonly options: PodSyncOptions) {
    this.listener = options.onEvent ?? (() => undefined);
    this.mounter = options.mounter ?? systemMounter;
    this.rootDir = options.rootDir ?? '/var/lib/criquet/kubelet';
    this.logRoot = options.logRoot ?? '/var/log/pods';
  }

  /**
   * One pass of the seven steps. Call it again until {@link SyncResult.idle}: init containers are started one a pass.
   *
   * @returns also what failed; a later pass tries it again after a pause.
   * @throws CriCallError when the runtime cannot be asked for the pod's state; the signal's reason when cancelled.
   */
  async sync(manifest: Manifest, { signal }: Cancellable = {}): Promise<SyncResult> {
    const { uid } = manifest.pod.metadata;
    return this.locks.run(uid, async () => {
      const context = {
        directory: new PodDirectory(this.rootDir, uid),
        options: await this.translation(),
        mounter: this.mounter,
        crashes: this.crashesOf(uid),
        pulls: this.pulls,
      };
      const pass = (this.passes.get(uid) ?? 0) + 1;
      this.passes.set(uid, pass);
      return syncPass(manifest, context, this.calls('compute', signal, pass));
    });
  }

  /**
   * Syncs until the pod runs: every ordinary container is running or has ended well; or until the whole pod has ended.
   *
   * @returns the pod's status then: its phase is Running, Succeeded or Failed.
   * @throws SyncError with `failFast`; the signal's reason when cancelled, for example by AbortSignal.timeout().
   */
  async waitRunning(manifest: Manifest, { signal, failFast = false }: WaitOptions = {}): Promise<PodStatus> {
    let pause = MIN_POLL_MS;
    for (;;) {
      const result = await this.sync(manifest, signal === undefined ? {} : { signal });
      const [failure] = result.failures;
      if (failFast && failure !== undefined) throw failure;
      const status = await this.statusOf(manifest, signal);
      if (isSettled(status)) return status;
      pause = result.idle || result.failures.length > 0 ? Math.min(pause * 2, MAX_POLL_MS) : MIN_POLL_MS;
      await sleep(pause, undefined, signal === undefined ? {} : { signal }).catch(() => signal?.throwIfAborted());
    }
  }

  /** Goes on syncing a pod, restarting what ends as its restart policy says, until it has ended or the signal cancels. */
  async keep(manifest: Manifest, { signal }: Cancellable = {}): Promise<PodStatus> {
    for (;;) {
      const result = await this.sync(manifest, signal === undefined ? {} : { signal });
      const status = await this.statusOf(manifest, signal);
      if (result.idle && (status.phase === 'Succeeded' || status.phase === 'Failed')) return status;
      await sleep(MAX_POLL_MS, undefined, signal === undefined ? {} : { signal }).catch(() => signal?.throwIfAborted());
    }
  }

  /** The pod of a manifest as it stands, with containers that were not created yet. */
  async statusOf(manifest: Manifest, signal?: AbortSignal): Promise<PodStatus> {
    const record = await readPodRecord(this.quietCalls(signal), manifest.pod.metadata.uid);
    return podStatus(record, manifest.pod);
  }

  /** The pod that a name, `NAMESPACE/NAME` or the beginning of an id means. @throws PodLookupError */
  async podStatus(reference: string, { signal }: Cancellable = {}): Promise<PodStatus> {
    const { record } = findPod(await readAllPods(this.quietCalls(signal)), reference);
    return podStatus(record);
  }

  /**
   * Runs a command in a container that runs (CRI ExecSync) and returns when it has ended.
   *
   * @throws PodLookupError; CriCallError, with DEADLINE_EXCEEDED when the command took longer than `timeoutSeconds`.
   */
  async exec(reference: string, command: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const { signal, timeoutSeconds = 0 } = options;
    const container = chooseContainer(await this.podStatus(reference, options), options.container);
    if (container.state !== 'running' || container.id === undefined) {
      throw new PodLookupError('not-found', `container ${container.name} of pod ${reference} is not running`);
    }
    const request = { containerId: container.id, cmd: [...command], timeout: BigInt(timeoutSeconds) };
    // The runtime ends the command at its time; the call gets a moment more to say so.
    const deadline = timeoutSeconds === 0 ? null : timeoutSeconds * 1000 + 5000;
    return this.quietCalls(signal).runtime('execSync', container.name, request, deadline);
  }

  /**
   * The records of a container's log. With `follow` until the container has ended.
   *
   * @throws PodLookupError; an error of the file system when the log is not on this machine.
   */
  async *logs(reference: string, options: LogOptions = {}): AsyncGenerator<LogRecord> {
    const container = chooseContainer(await this.podStatus(reference, options), options.container);
    if (container.logPath === undefined || container.id === undefined) {
      throw new PodLookupError('not-found', `container ${container.name} of pod ${reference} has no log yet`);
    }
    const { id } = container;
    const calls = this.quietCalls(options.signal);
    yield* followLog(container.logPath, {
      ...(options.tail === undefined ? {} : { tail: options.tail }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      follow: options.follow ?? false,
      ended: () => hasEnded(calls, id),
    });
  }

  /** All pods of the endpoint, whoever made them, by namespace and name. */
  async list({ signal }: Cancellable = {}): Promise<PodStatus[]> {
    const pods = await readAllPods(this.quietCalls(signal));
    const statuses = await Promise.all([...pods.values()].map((record) => podStatus(record)));
    const key = (status: PodStatus) => `${status.namespace}/${status.name}`;
    return statuses.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  }

  /** Stops a pod's containers, then its sandbox. A pod that is stopped stays so. @throws PodLookupError, CriCallError */
  async stop(reference: string, options: StopOptions = {}): Promise<void> {
    const { uid } = await this.find(reference, options.signal);
    await this.locks.run(uid, async () => this.stopRecord(await this.read(uid, options.signal), options));
  }

  /**
   * Removes a pod's containers and sandboxes, its volumes and its logs: of a pod that was stopped or has finished, with `force` of any.
   *
   * @throws PodLookupError; PodRunningError when it runs and `force` is not set; CriCallError.
   */
  async remove(reference: string, options: RemoveOptions = {}): Promise<void> {
    const { uid } = await this.find(reference, options.signal);
    await this.locks.run(uid, async () => {
      const record = await this.read(uid, options.signal);
      if (record.sandboxes.some((sandbox) => sandbox.ready)) {
        // What has finished keeps its sandbox until somebody stops it.
        const { phase } = await podStatus(record);
        const finished = phase === 'Succeeded' || phase === 'Failed';
        if (!finished && options.force !== true) throw new PodRunningError(`pod ${reference} is running; stop it first or use force`);
        await this.stopRecord(record, options);
      }
      await this.removeRecord(uid, record, options.signal);
    });
  }

  private async stopRecord(record: PodRecord, { graceSeconds, signal }: StopOptions): Promise<void> {
    const calls = this.enter('stop', signal, record);
    await killContainers(record.containers, calls, graceSeconds);
    for (const sandbox of record.sandboxes) await calls.runtime('stopPodSandbox', sandbox.name, { podSandboxId: sandbox.id });
  }

  private async removeRecord(uid: string, record: PodRecord, signal: AbortSignal | undefined): Promise<void> {
    const calls = this.enter('remove', signal, record);
    for (const { id, name } of record.containers) await calls.runtime('removeContainer', name, { containerId: id });
    for (const { id, name } of record.sandboxes) await calls.runtime('removePodSandbox', name, { podSandboxId: id });
    await tearDownPodDirectory(new PodDirectory(this.rootDir, uid).path, this.mounter, signal);
    const [sandbox] = record.sandboxes;
    if (sandbox !== undefined) await rm(podLogDirectory(this.logRoot, sandbox), { recursive: true, force: true });
    this.crashes.delete(uid);
    this.passes.delete(uid);
  }

  private async find(reference: string, signal: AbortSignal | undefined): Promise<{ uid: string }> {
    return findPod(await readAllPods(this.quietCalls(signal)), reference);
  }

  private async read(uid: string, signal: AbortSignal | undefined): Promise<PodRecord> {
    const record = await readPodRecord(this.quietCalls(signal), uid);
    if (record.sandboxes.length > 0) return record;
    throw new PodLookupError('not-found', `the pod with uid ${uid} is gone`);
  }

  private enter(step: StepName, signal: AbortSignal | undefined, record: PodRecord): CriCalls {
    const calls = this.calls(step, signal, 0);
    const [sandbox] = record.sandboxes;
    calls.report({ type: 'step', detail: sandbox === undefined ? '' : `${sandbox.namespace}/${sandbox.name}` });
    return calls;
  }

  private calls(step: StepName, signal: AbortSignal | undefined, pass: number): CriCalls {
    return new CriCalls(this.options.cri, this.listener, { pass, step, signal });
  }

  /** Calls that only look do not belong to a step and are not reported. */
  private quietCalls(signal: AbortSignal | undefined): CriCalls {
    return new CriCalls(this.options.cri, () => undefined, { pass: 0, step: 'compute', signal });
  }

  private async translation(): Promise<TranslationOptions> {
    this.node ??= this.options.node === undefined ? readNodeFacts() : Promise.resolve(this.options.node);
    return {
      node: await this.node,
      logRoot: this.logRoot,
      seccompRoot: this.options.seccompRoot ?? '/var/lib/kubelet/seccomp',
      cgroupParent: this.options.cgroupParent ?? '',
      clusterDns: this.options.clusterDns,
    };
  }

  private crashesOf(uid: string): BackOff {
    const known = this.crashes.get(uid) ?? new BackOff();
    this.crashes.set(uid, known);
    return known;
  }
}

/** Whether waiting for the pod to run has come to an end. */
function isSettled(status: PodStatus): boolean {
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return true;
  const ordinary = status.containers.filter((container) => container.kind === 'container');
  return ordinary.every((view) => view.state === 'running' || (view.state === 'terminated' && view.exitCode === 0 && status.phase === 'Running'));
}
