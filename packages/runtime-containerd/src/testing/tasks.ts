import { CheckpointOptions, ProcessDetails } from '../gen/types/runc/options/oci.js';
import {
  TaskCreate,
  TaskDelete,
  TaskExecAdded,
  TaskExecStarted,
  TaskExit,
  TaskOOM,
  TaskPaused,
  TaskResumed,
  TaskStart,
} from '../gen/events/task.js';
import type { TasksService } from '../gen/services/tasks/v1/tasks.js';
import { Status, type Process } from '../gen/types/task/task.js';
import type { Metric } from '../gen/types/metrics.js';
import { fromNanos } from '../grpc/timestamp.js';
import { decodeResources } from '../oci/spec-any.js';
import type { EventExchange } from './events.js';
import { alreadyExists, failedPrecondition, invalidArgument, notFound, shimLeft } from './fake-status.js';
import type { FakeProcess, FakeProgram } from './fake-process.js';
import { FakeTask } from './fake-task.js';
import { requireImages, writeImages } from './fake-criu.js';
import { parseFilters } from './filters.js';
import type { NamespaceState } from './namespace-state.js';
import type { Handlers } from './serve.js';

/** The tasks service, and what a test does to tasks from outside. */
export class TaskService {
  /** Answers of `tasks.metrics` by container id. */
  readonly metrics = new Map<string, Metric>();
  private nextPid = 1000;

  constructor(
    private readonly stateOf: (namespace: string) => NamespaceState,
    private readonly events: EventExchange,
    private readonly program: () => FakeProgram,
  ) {}

  find(namespace: string, containerId: string): FakeTask {
    const task = this.stateOf(namespace).tasks.get(containerId);
    if (task === undefined) throw notFound(`no running task found: task ${containerId}`);
    return task;
  }

  /** As the API does: containerd looks for the container's record first, and without one says that there is no task. */
  private reach(namespace: string, containerId: string): FakeTask {
    if (!this.stateOf(namespace).containers.has(containerId)) throw notFound(`container ${JSON.stringify(containerId)} in namespace ${JSON.stringify(namespace)}`);
    return this.find(namespace, containerId);
  }

  /** Ends a task as SIGKILL to its shim does: its processes go, who waits is told that the shim has left, containerd reports the exit and forgets the task. */
  killShim(namespace: string, containerId: string): void {
    const task = this.find(namespace, containerId);
    for (const exec of task.execs.values()) exec.lost();
    task.init.lost();
    this.stateOf(namespace).tasks.delete(containerId);
    this.publishDelete(task.init);
  }

  /** The kernel killed a process of the container. */
  oom(namespace: string, containerId: string): void {
    this.events.publish(namespace, '/tasks/oom', 'containerd.events.TaskOOM', TaskOOM, { containerId });
  }

  handlers(): Handlers<typeof TasksService> {
    const { events } = this;
    return {
      create: async (request, { namespace, signal }) => {
        const state = this.stateOf(namespace);
        const { containerId, stdin, stdout, stderr, terminal, rootfs } = request;
        const spec = state.containers.get(containerId)?.spec;
        if (spec === undefined) throw notFound(`container ${JSON.stringify(containerId)} in namespace ${JSON.stringify(namespace)}`);
        if (state.tasks.has(containerId)) throw alreadyExists(`task ${containerId}`);
        if (!terminal && (stdout === '') !== (stderr === '')) throw invalidArgument('stdout and stderr: both or neither');
        const pid = this.nextPid++;
        const streams = { stdin, stdout, stderr, terminal };
        const task = new FakeTask(request, { namespace, containerId, execId: '', pid, spec, ...streams });
        await task.init.open(signal);
        if (state.tasks.has(containerId)) throw alreadyExists(`task ${containerId}`);
        state.tasks.set(containerId, task);
        const event = { containerId, bundle: `/fake/${namespace}/${containerId}`, rootfs, io: streams, checkpoint: '', pid };
        events.publish(namespace, '/tasks/create', 'containerd.events.TaskCreate', TaskCreate, event);
        // The processes of a checkpoint are there when it is started.
        return { containerId, pid: task.restoredFrom === '' ? pid : 0 };
      },
      start: async ({ containerId, execId }, { namespace, signal }) => {
        const process = this.reach(namespace, containerId).process(execId);
        if (process.status !== Status.CREATED) throw failedPrecondition(`cannot start a process that is ${Status[process.status]}`);
        const { restoredFrom } = this.reach(namespace, containerId);
        if (execId === '' && restoredFrom !== '') await requireImages(restoredFrom);
        if (execId !== '') await process.open(signal);
        const { pid } = process;
        if (execId === '') events.publish(namespace, '/tasks/start', 'containerd.events.TaskStart', TaskStart, { containerId, pid });
        else events.publish(namespace, '/tasks/exec-started', 'containerd.events.TaskExecStarted', TaskExecStarted, { containerId, execId, pid });
        process.started((ended) => this.exited(ended), this.program());
        return { pid };
      },
      delete: ({ containerId }, { namespace }) => {
        const { init, execs } = this.reach(namespace, containerId);
        if (init.status !== Status.STOPPED && init.status !== Status.CREATED) throw failedPrecondition(`task must be stopped before deletion: ${Status[init.status]}`);
        this.stateOf(namespace).tasks.delete(containerId);
        for (const exec of execs.values()) exec.release();
        init.release();
        this.publishDelete(init);
        return exitReply(init);
      },
      deleteProcess: ({ containerId, execId }, { namespace }) => exitReply(this.reach(namespace, containerId).removeExec(execId)),
      get: ({ containerId, execId }, { namespace }) => ({ process: wireProcess(this.reach(namespace, containerId).process(execId)) }),
      list: (_, { namespace }) => ({
        tasks: [...this.stateOf(namespace).tasks.values()].map(({ init }) => ({ ...wireProcess(init), containerId: '' })),
      }),
      kill: ({ containerId, execId, signal, all }, { namespace }) => {
        const task = this.reach(namespace, containerId);
        const process = task.process(execId);
        if (process.status === Status.STOPPED) throw notFound('process already finished');
        if (all) for (const exec of task.execs.values()) exec.signal(signal);
        const created = process.status === Status.CREATED;
        process.signal(signal);
        // A process that was never started has no exit callback yet.
        if (created && (process.status as Status) === Status.STOPPED) this.exited(process);
        return {};
      },
      exec: ({ containerId, execId, spec, stdin, stdout, stderr, terminal }, { namespace }) => {
        const task = this.reach(namespace, containerId);
        if (spec === undefined || execId === '') throw invalidArgument('exec needs an id and a spec');
        const { pid: _, execSpec: __, ...init } = task.init.init;
        task.addExec({ ...init, execId, pid: this.nextPid++, execSpec: spec, stdin, stdout, stderr, terminal });
        events.publish(namespace, '/tasks/exec-added', 'containerd.events.TaskExecAdded', TaskExecAdded, { containerId, execId });
        return {};
      },
      resizePty: ({ containerId, execId, width, height }, { namespace }) => {
        this.reach(namespace, containerId).process(execId).size = { width, height };
        return {};
      },
      closeIo: ({ containerId, execId }, { namespace }) => {
        this.reach(namespace, containerId).process(execId).closeStdin();
        return {};
      },
      pause: ({ containerId }, { namespace }) => {
        this.change(namespace, containerId, Status.RUNNING, Status.PAUSED);
        events.publish(namespace, '/tasks/paused', 'containerd.events.TaskPaused', TaskPaused, { containerId });
        return {};
      },
      resume: ({ containerId }, { namespace }) => {
        this.change(namespace, containerId, Status.PAUSED, Status.RUNNING);
        events.publish(namespace, '/tasks/resumed', 'containerd.events.TaskResumed', TaskResumed, { containerId });
        return {};
      },
      listPids: ({ containerId }, { namespace }) => {
        const { init, execs } = this.reach(namespace, containerId);
        const alive = [init, ...execs.values()].filter(({ status }) => status === Status.RUNNING || status === Status.PAUSED);
        return { processes: alive.map(({ pid, execId }) => ({ pid, info: details(execId) })) };
      },
      checkpoint: async ({ containerId, options }, { namespace }) => {
        const { init } = this.reach(namespace, containerId);
        if (init.status !== Status.RUNNING && init.status !== Status.PAUSED) throw failedPrecondition(`cannot checkpoint a task that is ${Status[init.status]}`);
        await writeImages(containerId, CheckpointOptions.decode(options?.value ?? new Uint8Array()));
        return { descriptors: [] };
      },
      update: ({ containerId, resources }, { namespace }) => {
        const task = this.reach(namespace, containerId);
        if (resources !== undefined) task.resources = decodeResources(resources);
        return {};
      },
      metrics: ({ filters }, { namespace }) => {
        const matches = parseFilters(filters);
        const ids = [...this.stateOf(namespace).tasks.keys()].filter((id) => matches(([field]) => (field === 'id' ? id : undefined)));
        return { metrics: ids.map((id) => this.metrics.get(id) ?? { id, timestamp: undefined, data: undefined }) };
      },
      wait: async ({ containerId, execId }, { namespace }) => {
        const process = this.reach(namespace, containerId).process(execId);
        await process.ended;
        if (process.wasLost) throw shimLeft();
        return { exitStatus: process.exitStatus, exitedAt: fromNanos(process.exitedAt) };
      },
    };
  }

  private change(namespace: string, containerId: string, from: Status, to: Status): void {
    const { init } = this.reach(namespace, containerId);
    if (init.status !== from) throw failedPrecondition(`task ${containerId} is ${Status[init.status]}`);
    init.status = to;
  }

  private exited(process: FakeProcess): void {
    const { namespace, containerId, execId, pid, exitStatus, exitedAt } = process;
    const id = execId || containerId;
    const event = { containerId, id, pid, exitStatus, exitedAt: fromNanos(exitedAt) };
    this.events.publish(namespace, '/tasks/exit', 'containerd.events.TaskExit', TaskExit, event);
    if (execId !== '') return;
    // With its first process the whole container ends.
    const execs = this.stateOf(namespace).tasks.get(containerId)?.execs.values() ?? [];
    for (const exec of execs) if (exec.status === Status.RUNNING) exec.signal(9);
  }

  private publishDelete(process: FakeProcess): void {
    const { namespace, containerId, pid, exitStatus, exitedAt } = process;
    const event = { containerId, id: containerId, pid, exitStatus, exitedAt: fromNanos(exitedAt) };
    this.events.publish(namespace, '/tasks/delete', 'containerd.events.TaskDelete', TaskDelete, event);
  }
}

function exitReply({ execId, pid, exitStatus, exitedAt }: FakeProcess) {
  return { id: execId, pid, exitStatus, exitedAt: fromNanos(exitedAt) };
}

function wireProcess(process: FakeProcess): Process {
  const { containerId, execId, pid, status, exitStatus, exitedAt } = process;
  const { stdin, stdout, stderr, terminal } = process.init;
  const ended = status === Status.STOPPED ? fromNanos(exitedAt) : undefined;
  return { containerId, id: execId || containerId, pid, status, stdin, stdout, stderr, terminal, exitStatus, exitedAt: ended };
}

function details(execId: string) {
  if (execId === '') return undefined;
  return { typeUrl: 'containerd.runc.v1.ProcessDetails', value: Buffer.from(ProcessDetails.encode({ execId }).finish()) };
}
