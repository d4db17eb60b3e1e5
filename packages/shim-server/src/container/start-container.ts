import { setTimeout as pause } from 'node:timers/promises';
import type { StartContainerRequest, StartContainerResponse } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import { isAlreadyExists, isTaskUnderWay, type Containerd, type NewTask } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { Restoration } from '../checkpoint/restoration.js';
import { failedPrecondition } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { toStatus } from '../grpc/status.js';
import { CgroupMoves } from '../runtime/cgroup-moves.js';
import { discardTask } from '../runtime/reach-task.js';
import { BEHIND_ANSWER_MS } from '../runtime/process-end.js';
import { ownedIo } from '../runtime/io-owner.js';
import { withContext } from '../runtime/mount-context.js';
import { OwedWork } from '../runtime/owed-work.js';
import { RuntimeHandlers, type RuntimeHandler } from '../runtime/runtime-handlers.js';
import { PauseStart } from '../sandbox/pause-start.js';
import { onNode, podUserNamespace, ROOT_USER } from '../spec/index.js';
import { unixNanosSince } from '../state/clock.js';
import type { ContainerExit, ContainerRecord } from '../state/container-record.js';
import { orAbort } from '../state/keyed-mutex.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Rollback } from '../steps/rollback.js';
import type { StepOf, UndoOf } from '../steps/registry.js';
import { Steps } from '../steps/steps.js';
import { together } from '../steps/together.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { ContainerIo } from './container-io.js';
import { ContainerLocks } from './container-locks.js';
import { ContainerWatch } from './container-watch.js';
import { OomKills } from './oom-kills.js';
import { pidTarget } from './pid-target.js';
import { PreparedRootfs } from './prepared-rootfs.js';

/** The exit code of a container that could not be started, as users of container engines know it. */
const START_ERROR_CODE = 128;

/** Failures of the way to containerd: they say nothing of the container, and a retry may work. */
const TRANSPORT_FAILURES = new Set([status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED]);

/** How long containerd may take to be done with an earlier start of the same container. */
const EARLIER_START_MS = 10_000;
const FIRST_PAUSE_MS = 50;

type StartSteps = Steps<StepOf<'StartContainer'>>;
type StartRollback = Rollback<UndoOf<'StartContainer'>>;

/** CRI StartContainer: log and FIFOs, then the task. A container that cannot be started has exited with StartError. */
@scoped(Lifecycle.ContainerScoped)
export class StartContainer {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(ContainerIo) private readonly io: ContainerIo,
    @inject(ContainerLocks) private readonly locks: ContainerLocks,
    @inject(PauseStart) private readonly pauseStart: PauseStart,
    @inject(PreparedRootfs) private readonly prepared: PreparedRootfs,
    @inject(ContainerWatch) private readonly watch: ContainerWatch,
    @inject(Restoration) private readonly restoration: Restoration,
    @inject(OomKills) private readonly oomKills: OomKills,
    @inject(OwedWork) private readonly owed: OwedWork,
    @inject(CgroupMoves) private readonly moves: CgroupMoves,
  ) {}

  readonly handle: UnaryCall<StartContainerRequest, StartContainerResponse> = async (request, { signal, log }) => {
    const { id } = this.containers.require(request.containerId);
    // It runs to its end when the caller goes away: a retry then finds the container running.
    await orAbort(
      this.locks.run(id, undefined, () => this.start(id, log)),
      signal,
    );
    return {};
  };

  private async start(id: string, log: Logger): Promise<void> {
    let container = this.containers.require(id);
    if (container.phase !== 'created') {
      throw failedPrecondition(`container ${id} is ${container.phase}; only a created one can be started`);
    }
    // Recovery could not finish; a task that is left is replaced.
    if (container.discarding === true) container = await this.containers.update(id, ({ discarding: _, ...record }) => record);
    const sandbox = this.readySandbox(container);
    const steps = Steps.of('StartContainer', this.failpoints, log);
    const rollback = Rollback.of('StartContainer', this.failpoints, log);
    try {
      const pid = await this.startTask(container, sandbox, steps, rollback);
      this.containers.amend(id, (record) => ({ ...record, phase: 'running', pid, startedAt: unixNanosSince(record.createdAt) }));
      this.watch.begin(id, BEHIND_ANSWER_MS);
      await this.restoration.forget(container);
    } catch (failure) {
      const error = await this.restoration.explain(container, failure);
      rollback.add('end the restore', () => this.restoration.end(container));
      if (!(await rollback.run())) this.owed.owe(id, 'take back the start', () => this.locks.run(id, undefined, () => this.discard(id)));
      await this.recordStartError(container, error, steps);
      throw error;
    }
  }

  private async startTask(container: ContainerRecord, sandbox: SandboxRecord, steps: StartSteps, rollback: StartRollback): Promise<number> {
    const { id } = container;
    const { tasks, snapshots } = this.containerd;
    const handler = this.handlers.of(sandbox);
    this.moves.expect();
    // It ran when the container was created; the number of its process may be another's by now.
    await pidTarget(this.containers, sandbox.id, container.config);
    const [streams, rootfs] = await together(
      steps.do('open the log and FIFOs', () => {
        rollback.add('close the FIFOs', () => this.io.close(id));
        return this.io.open(container, sandbox.config.logDirectory);
      }),
      steps.do('find the root file system', async () => this.prepared.take(id) ?? snapshots.mounts(container.snapshotter, id)),
    );
    await this.oomKills.expect(container);
    await steps.do('create the task', async () => {
      rollback.add('delete the task', () => discardTask(this.containerd, id));
      const options = this.restoration.task(container, taskOptions(handler, sandbox, container));
      return this.createTask({ containerId: id, rootfs: withContext(rootfs, container.mountLabel), ...streams, ...options });
    });
    return steps.do('start the task', async () => {
      await this.pauseStart.settled(sandbox.id);
      this.readySandbox(container);
      // The process of a checkpoint has no pid before.
      return tasks.start(id, undefined, this.restoration.limit(container));
    });
  }

  private readySandbox({ sandboxId }: ContainerRecord): SandboxRecord {
    const sandbox = this.sandboxes.require(sandboxId);
    if (sandbox.phase !== 'ready') throw failedPrecondition(`sandbox ${sandboxId} is not ready`);
    return sandbox;
  }

  /** Replaces what a start left that failed while containerd could not be reached for its undo; containerd may still be at work on that. */
  private async createTask(task: NewTask): Promise<number> {
    const late = performance.now() + EARLIER_START_MS;
    for (let ms = 0; ; ms = Math.max(FIRST_PAUSE_MS, ms * 2)) {
      try {
        return await this.containerd.tasks.create(task);
      } catch (error) {
        if (!(isAlreadyExists(error) || isTaskUnderWay(error)) || performance.now() > late) throw error;
      }
      await discardTask(this.containerd, task.containerId);
      await pause(ms);
    }
  }

  /** What a start that failed has left. One that is started again, or was removed, has seen to it itself. */
  private async discard(id: string): Promise<void> {
    if (this.containers.get(id)?.phase === 'running') return;
    await discardTask(this.containerd, id);
    await this.io.close(id);
  }

  private async recordStartError({ id, restored }: ContainerRecord, error: unknown, steps: StartSteps): Promise<void> {
    const { code, message } = toStatus(error);
    // A restore that is late has been ended.
    const late = restored === true && code === status.DEADLINE_EXCEEDED;
    if (TRANSPORT_FAILURES.has(code) && !late) return;
    const exit = ({ createdAt }: ContainerRecord): ContainerExit => ({ code: START_ERROR_CODE, reason: 'StartError', message, finishedAt: unixNanosSince(createdAt) });
    await steps.do('record the start error', () => this.containers.update(id, (record) => ({ ...record, phase: 'exited', exit: exit(record) })));
  }
}

function taskOptions({ task }: RuntimeHandler, { config }: SandboxRecord, { user = ROOT_USER }: ContainerRecord): RuntimeHandler['task'] {
  const userns = podUserNamespace(config);
  return userns === undefined ? task : ownedIo(task, onNode(userns, user));
}
