import { endLeftoverPlugins } from '@criquet/network-cni';
import { isNotFound, isTaskGone, type CallOptions, type Containerd, type ContainerRecord as ContainerdRecord, type TaskStatus } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { CaptureWork } from '../checkpoint/capture-work.js';
import { ContainerIo } from '../container/container-io.js';
import { ContainerRemover } from '../container/container-remover.js';
import { ContainerWatch } from '../container/container-watch.js';
import { ImageUsers } from '../container/image-users.js';
import { toStatus } from '../grpc/status.js';
import { PauseStart } from '../sandbox/pause-start.js';
import { PodRemoval } from '../sandbox/pod-removal.js';
import { SandboxWatch } from '../sandbox/sandbox-watch.js';
import { SandboxTeardown } from '../sandbox/sandbox-teardown.js';
import { ignoreTaskGone } from '../runtime/already-gone.js';
import { OwedWork } from '../runtime/owed-work.js';
import { discardTask } from '../runtime/reach-task.js';
import { brokenContainer, brokenSandbox } from './broken-record.js';
import { unixNanosSince } from '../state/clock.js';
import { orAbort } from '../state/keyed-mutex.js';
import { containerCodec, type ContainerRecord } from '../state/container-record.js';
import type { Layout } from '../state/layout.js';
import { isObjectId } from '../state/object-id.js';
import type { RecordCodec } from '../state/record-codec.js';
import { KIND_LABEL, type RecordKind } from '../state/record-labels.js';
import { sandboxCodec, stopped, type SandboxRecord } from '../state/sandbox-record.js';
import type { Failpoints } from '../steps/failpoints.js';
import type { StepOf } from '../steps/registry.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers, type NodeRoots, type Sandboxes } from '../tokens.js';

/** How long containerd may take for what is asked about one object. */
const OBJECT_TIMEOUT_MS = 5_000;
/** What runs is watched by containerd's events first: its shim is looked for, and asked, when the daemon serves. */
const BEHIND_START_MS = 500;
/** How long one object may hold up the start, whatever hangs; its recovery goes on behind. */
const START_LIMIT_MS = 6_000;

/**
 * Rebuilds the index from containerd at start: every object alone, so that a broken or hanging one hurts no other. What was
 * half made is taken back, what runs is watched and read again, what ended meanwhile gets its true exit code.
 */
@scoped(Lifecycle.ContainerScoped)
export class Recovery {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(Token.Logger) private readonly log: Logger,
    @inject(SandboxWatch) private readonly sandboxWatch: SandboxWatch,
    @inject(SandboxTeardown) private readonly teardown: SandboxTeardown,
    @inject(ContainerWatch) private readonly watch: ContainerWatch,
    @inject(ContainerIo) private readonly io: ContainerIo,
    @inject(ContainerRemover) private readonly remover: ContainerRemover,
    @inject(PauseStart) private readonly pauseStart: PauseStart,
    @inject(PodRemoval) private readonly podRemoval: PodRemoval,
    @inject(ImageUsers) private readonly users: ImageUsers,
    @inject(CaptureWork) private readonly captures: CaptureWork,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
    @inject(OwedWork) private readonly owed: OwedWork,
  ) {}

  async run(): Promise<void> {
    await this.alone({}, () => this.users.tidy());
    const [sandboxes, containers] = await Promise.all([
      this.records('sandbox', sandboxCodec, (record) => brokenSandbox(record, { netnsPath: this.layout.netns(record.id), usernsPath: this.layout.userns(record.id) })),
      this.records('container', containerCodec, brokenContainer),
    ]);
    await this.alone({}, () => this.endPlugins(sandboxes));
    for (const sandbox of sandboxes) this.sandboxes.adopt(sandbox);
    for (const container of containers) this.containers.adopt(container);
    await Promise.all([
      ...sandboxes.map((sandbox) => this.alone({ podSandboxId: sandbox.id }, () => this.recoverSandbox(sandbox))),
      ...containers.map((container) => this.alone({ containerId: container.id }, () => this.recoverContainer(container))),
    ]);
    if (sandboxes.length + containers.length > 0) {
      this.log.info({ sandboxes: sandboxes.length, containers: containers.length }, 'recovered');
    }
  }

  /** In the order they were created. A record without criquet's extension belongs to somebody else. */
  private async records<R extends { id: string; createdAt: bigint }>(
    kind: RecordKind,
    codec: RecordCodec<R>,
    broken: (record: ContainerdRecord) => R,
  ): Promise<R[]> {
    const found: R[] = [];
    for await (const record of this.containerd.containers.stream([`labels."${KIND_LABEL}"==${kind}`])) {
      const extension = record.extensions[codec.key];
      if (extension === undefined) continue;
      if (!isObjectId(record.id)) {
        this.log.error({ id: record.id }, `a ${kind} record with an id that criquet does not give; it is left alone`);
        continue;
      }
      try {
        const decoded = codec.decode(extension);
        if (decoded.id !== record.id) throw new Error(`it is the record of ${decoded.id}`);
        found.push(decoded);
      } catch (error) {
        this.log.error({ id: record.id, err: (error as Error).message }, `${kind} record cannot be read; it can be removed`);
        found.push(broken(record));
      }
    }
    return found.sort((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0));
  }

  private async alone(ids: Record<string, string>, work: () => Promise<void>): Promise<void> {
    try {
      await orAbort(work(), AbortSignal.timeout(START_LIMIT_MS));
    } catch (error) {
      this.log.error({ ...ids, err: toStatus(error).message }, 'not recovered; it is shown as it was and can be removed');
    }
  }

  /** A plugin outlives the daemon that was killed while it ran; its ADD must not end after the DEL that takes it back, and a DEL must not be cut short. */
  private async endPlugins(sandboxes: readonly SandboxRecord[]): Promise<void> {
    const pids = await endLeftoverPlugins(new Set(sandboxes.filter(({ networkAttached }) => networkAttached).map(({ id }) => id)), { proc: this.roots.proc });
    if (pids.length > 0) this.log.warn({ pids }, 'CNI plugins of a killed daemon still ran and were killed');
  }

  private async recoverSandbox(sandbox: SandboxRecord): Promise<void> {
    const { id, phase } = sandbox;
    if (phase === 'creating' || phase === 'failed' || sandbox.restoring === true) {
      this.sandboxes.note(id, (record) => ({ ...record, phase: 'failed' }));
      if (sandbox.restoring === true) this.podRemoval.owe(id);
      else this.teardown.owe(id);
      return;
    }
    if (phase !== 'ready') {
      if (this.owesTeardown(sandbox)) this.teardown.owe(id);
      return;
    }
    // Beginning to watch is enough where the shim does not answer: the end of the process is noticed then.
    const task = await this.taskOrSilence(id);
    if (task === undefined || (task !== 'silent' && task.status === 'stopped')) {
      this.sandboxes.amend(id, stopped);
      return;
    }
    if (task !== 'silent' && task.status === 'created') this.pauseStart.begin(id);
    this.sandboxWatch.begin(id, BEHIND_START_MS);
  }

  /**
   * A stop that failed half-way. A pod whose pause process ended by itself looks the same and may still have containers that use its network;
   * and of a record that cannot be read nobody knows what it owes.
   */
  private owesTeardown({ id, networkAttached, configDigest }: SandboxRecord): boolean {
    const used = this.containers.all().some((container) => container.sandboxId === id && container.phase === 'running');
    return networkAttached && configDigest !== '' && !used;
  }

  private async recoverContainer(container: ContainerRecord): Promise<void> {
    // A daemon killed during a checkpoint has left it paused.
    this.captures.recover(container.id, this.steps(container));
    switch (container.phase) {
      case 'creating':
        return this.recoverCreation(container);
      case 'created':
        return this.recoverStart(container);
      case 'running':
        return this.resume(container);
      case 'exited':
        return this.release(container);
    }
  }

  /** Its user known and its snapshot there, it was created; anything less is taken back. */
  private async recoverCreation(container: ContainerRecord): Promise<void> {
    if (container.user !== undefined && (await this.hasSnapshot(container.id))) {
      const created = this.containers.note(container.id, (record) => ({ ...record, phase: 'created' }));
      return this.recoverStart(created);
    }
    try {
      await this.remover.discard(container.id, this.steps(container), AbortSignal.timeout(OBJECT_TIMEOUT_MS));
    } catch (error) {
      this.remover.owe(container.id);
      throw error;
    }
  }

  /** A start that the daemon did not survive: the container runs, or can be started again. */
  private async recoverStart(container: ContainerRecord): Promise<void> {
    const { id } = container;
    const task = await this.task(id);
    if (task !== undefined && task.status !== 'created' && container.discarding !== true) return this.resume(container);
    if (task !== undefined) {
      // It is killed before it is deleted: a daemon that dies between the two must not be taken for one that dies while the container ran.
      await this.containers.update(id, (record) => ({ ...record, discarding: true }));
      await this.steps(container).do('delete the task', () => discardTask(this.containerd, id, withinLimit()));
    }
    if (this.containers.get(id)?.discarding === true) await this.containers.update(id, ({ discarding: _, ...record }) => record);
  }

  /**
   * What ended meanwhile is noticed by the watch at once. Of what has no task any more (after a reboot: everything) the exit is recorded before the
   * daemon serves: a kubelet that saw it running would stop it, with its hooks.
   */
  private async resume(container: ContainerRecord): Promise<void> {
    const { id } = container;
    const task = await this.taskOrSilence(id);
    const resumed = this.containers.note(id, (record) => ({
      ...record,
      phase: 'running',
      pid: task === 'silent' ? record.pid : (task?.pid ?? 0),
      startedAt: record.startedAt === 0n ? unixNanosSince(record.createdAt) : record.startedAt,
    }));
    try {
      if (task !== undefined || (await this.io.hasFifos(id))) await this.io.attach(resumed);
    } finally {
      // Also without its log it must not be taken for running for ever.
      this.watch.begin(id, runs(task) ? BEHIND_START_MS : 0);
    }
    if (task === undefined) await this.watch.exited(id);
  }

  private async release(container: ContainerRecord): Promise<void> {
    const steps = this.steps(container);
    if (container.exit?.reason === 'StartError') return this.takeBackStart(container.id, steps);
    await steps.do('delete the task', () => this.containerd.tasks.delete(container.id, withinLimit()).catch(ignoreTaskGone));
    await steps.do('remove the FIFOs', () => this.io.close(container.id));
  }

  /** The undo of a start that failed may have failed too: what is left of it may still run. */
  private async takeBackStart(id: string, steps: Steps<StepOf<'Recovery'>>): Promise<void> {
    const takeBack = async (options: CallOptions) => {
      await steps.do('delete the task', () => discardTask(this.containerd, id, options));
      await steps.do('remove the FIFOs', () => this.io.close(id));
    };
    try {
      await takeBack(withinLimit());
    } catch (error) {
      this.owed.owe(id, 'take back the start', (signal) => takeBack({ signal }));
      throw error;
    }
  }

  private steps({ id }: ContainerRecord): Steps<StepOf<'Recovery'>> {
    return Steps.of('Recovery', this.failpoints, this.log.child({ containerId: id }));
  }

  private async task(id: string): Promise<{ pid: number; status: TaskStatus } | undefined> {
    try {
      return await this.containerd.tasks.get(id, undefined, withinLimit());
    } catch (error) {
      if (isTaskGone(error)) return undefined;
      throw error;
    }
  }

  /** A shim that does not answer says nothing of its task: it may go on when the shim does. */
  private async taskOrSilence(id: string): Promise<{ pid: number; status: TaskStatus } | 'silent' | undefined> {
    try {
      return await this.task(id);
    } catch (error) {
      this.log.warn({ id, err: toStatus(error).message }, 'task does not answer');
      return 'silent';
    }
  }

  private async hasSnapshot(id: string): Promise<boolean> {
    const record = await this.containerd.containers.get(id);
    try {
      await this.containerd.snapshots.stat(record.snapshotter, record.snapshotKey);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}

function runs(task: { status: TaskStatus } | 'silent' | undefined): boolean {
  return task !== undefined && task !== 'silent' && task.status === 'running';
}

function withinLimit(): { timeoutMs: number } {
  return { timeoutMs: OBJECT_TIMEOUT_MS };
}
