import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';
import { TasksService } from '../gen/services/tasks/v1/tasks.js';
import { ProcessDetails } from '../gen/types/runc/options/oci.js';
import { Process, Status as WireStatus } from '../gen/types/task/task.js';
import { fromWireAny, toWireAny } from '../grpc/any.js';
import type { Channel } from '../grpc/channel.js';
import { fromWireDescriptor, toWireDescriptor } from '../grpc/descriptor.js';
import { toWireMount } from '../grpc/mount.js';
import { toNanos } from '../grpc/timestamp.js';
import type { Descriptor } from './images.js';
import type { Mount } from './snapshots.js';

/**
 * The tasks service (containerd.services.tasks.v1): the processes of containers.
 *
 * A call on a task that is gone fails with NOT_FOUND; one on a task whose shim has just left (also a `wait` that was
 * under way) may fail with UNKNOWN and "ttrpc: closed": see `isTaskGone`.
 */
export interface Tasks {
  /** Makes the container's first process, not yet started. Resolves with its pid. @throws ContainerdError ALREADY_EXISTS */
  create(task: NewTask, options?: CallOptions): Promise<number>;
  /** Starts the first process, or the exec process `execId`. Resolves with its pid. */
  start(containerId: string, execId?: string, options?: CallOptions): Promise<number>;
  /** Removes a task that is not running. @throws ContainerdError FAILED_PRECONDITION while it runs */
  delete(containerId: string, options?: CallOptions): Promise<Exit>;
  /** Removes an exec process that is not running. */
  deleteProcess(containerId: string, execId: string, options?: CallOptions): Promise<Exit>;
  /** `all` signals every process of the container. @throws ContainerdError NOT_FOUND when the process has ended */
  kill(containerId: string, kill: KillRequest, options?: CallOptions): Promise<void>;
  /** Adds a process to a running task; `start` starts it. */
  exec(process: NewExec, options?: CallOptions): Promise<void>;
  get(containerId: string, execId?: string, options?: CallOptions): Promise<TaskProcess>;
  /** The first processes of all tasks. It asks every shim: one that hangs makes it hang. */
  list(options?: CallOptions): Promise<TaskProcess[]>;
  /** Resolves when the process ends. No deadline unless `timeoutMs` is given. */
  wait(containerId: string, execId?: string, options?: CallOptions): Promise<Exit>;
  /** The processes in the container as the host counts them. */
  pids(containerId: string, options?: CallOptions): Promise<TaskPid[]>;
  pause(containerId: string, options?: CallOptions): Promise<void>;
  resume(containerId: string, options?: CallOptions): Promise<void>;
  /** Needs CRIU. Options: see `checkpointOptions`. */
  checkpoint(
    containerId: string,
    checkpoint?: { readonly parent?: string; readonly options?: Any },
    options?: CallOptions,
  ): Promise<Descriptor[]>;
  /** New limits; `resources` from `encodeResources`. */
  update(update: TaskUpdate, options?: CallOptions): Promise<void>;
  /** Raw cgroup figures, by filters such as `id==x`. A hung shim makes it hang. */
  metrics(filters?: readonly string[], options?: CallOptions): Promise<TaskMetrics[]>;
  resizePty(containerId: string, size: PtySize, options?: CallOptions): Promise<void>;
  /** Tells the shim that standard input ends: it closes its own write end of the FIFO. */
  closeIo(containerId: string, execId?: string, options?: CallOptions): Promise<void>;
}

export interface TaskStreams {
  /** Path of a FIFO; '' is none. */
  readonly stdin: string;
  /**
   * Without a terminal the runc shim wants both stdout and stderr, or neither. It waits until each has a reader: open them before
   * `create`, or before `start` of an exec, or the call hangs.
   */
  readonly stdout: string;
  readonly stderr: string;
  readonly terminal: boolean;
}

export interface NewTask extends TaskStreams {
  readonly containerId: string;
  /** Mounted by the shim on the bundle's `rootfs`. */
  readonly rootfs: readonly Mount[];
  /** The runtime's options, for example `runcOptions`. */
  readonly options?: Any;
  /** Overrides the shim's binary. */
  readonly runtimePath?: string;
  /** A checkpoint to restore. */
  readonly checkpoint?: Descriptor;
}

export interface NewExec extends TaskStreams {
  readonly containerId: string;
  readonly execId: string;
  /** From `encodeProcess`. */
  readonly spec: Any;
}

export interface KillRequest {
  /** The signal's number. */
  readonly signal: number;
  readonly execId?: string;
  readonly all?: boolean;
}

export interface PtySize {
  /** Characters. */
  readonly width: number;
  readonly height: number;
  readonly execId?: string;
}

export interface TaskUpdate {
  readonly containerId: string;
  readonly resources: Any;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** How a process ended. */
export interface Exit {
  readonly pid: number;
  /** 0 to 255; 128 + n for signal n. */
  readonly exitStatus: number;
  /** Nanoseconds since 1970; 0 when containerd does not know. */
  readonly exitedAt: bigint;
}

export type TaskStatus = 'unknown' | 'created' | 'running' | 'stopped' | 'paused' | 'pausing';

export interface TaskProcess extends TaskStreams {
  readonly containerId: string;
  /** '' for the container's first process. */
  readonly execId: string;
  readonly pid: number;
  readonly status: TaskStatus;
  readonly exitStatus: number;
  /** Nanoseconds since 1970; 0 while it runs. */
  readonly exitedAt: bigint;
}

export interface TaskPid {
  readonly pid: number;
  /** Set for a process that an exec started. */
  readonly execId?: string;
}

export interface TaskMetrics {
  readonly containerId: string;
  /** Nanoseconds since 1970. */
  readonly timestamp: bigint;
  /** `io.containerd.cgroups.v1.Metrics` or `io.containerd.cgroups.v2.Metrics`. */
  readonly data?: Any;
}

export function tasksService(channel: Channel): Tasks {
  return {
    async create(task, options) {
      const { containerId, stdin, stdout, stderr, terminal, runtimePath = '', checkpoint } = task;
      const request = {
        containerId,
        rootfs: task.rootfs.map(toWireMount),
        stdin,
        stdout,
        stderr,
        terminal,
        checkpoint: checkpoint === undefined ? undefined : toWireDescriptor(checkpoint),
        options: task.options === undefined ? undefined : toWireAny(task.options),
        runtimePath,
        taskApiAddress: '',
        taskApiVersion: 0,
      };
      return (await channel.unary(TasksService.create, request, options)).pid;
    },
    async start(containerId, execId = '', options) {
      return (await channel.unary(TasksService.start, { containerId, execId }, options)).pid;
    },
    async delete(containerId, options) {
      return exit(await channel.unary(TasksService.delete, { containerId }, options));
    },
    async deleteProcess(containerId, execId, options) {
      return exit(await channel.unary(TasksService.deleteProcess, { containerId, execId }, options));
    },
    async kill(containerId, { signal, execId = '', all = false }, options) {
      await channel.unary(TasksService.kill, { containerId, execId, signal, all }, options);
    },
    async exec({ containerId, execId, spec, stdin, stdout, stderr, terminal }, options) {
      const request = { containerId, execId, spec: toWireAny(spec), stdin, stdout, stderr, terminal };
      await channel.unary(TasksService.exec, request, options);
    },
    async get(containerId, execId = '', options) {
      const { process } = await channel.unary(TasksService.get, { containerId, execId }, options);
      return taskProcess(containerId, execId, process);
    },
    async list(options) {
      const { tasks } = await channel.unary(TasksService.list, { filter: '' }, options);
      // In this reply containerd leaves `containerId` empty and gives it as `id`.
      return tasks.map((process) => taskProcess(process.containerId || process.id, '', process));
    },
    async wait(containerId, execId = '', options) {
      const reply = await channel.unary(TasksService.wait, { containerId, execId }, options, 0);
      return exit({ pid: 0, ...reply });
    },
    async pids(containerId, options) {
      const { processes } = await channel.unary(TasksService.listPids, { containerId }, options);
      return processes.map(({ pid, info }) => {
        const execId = info?.typeUrl === 'containerd.runc.v1.ProcessDetails' ? ProcessDetails.decode(info.value).execId : '';
        return { pid, ...(execId === '' ? {} : { execId }) };
      });
    },
    async pause(containerId, options) {
      await channel.unary(TasksService.pause, { containerId }, options);
    },
    async resume(containerId, options) {
      await channel.unary(TasksService.resume, { containerId }, options);
    },
    async checkpoint(containerId, checkpoint = {}, options) {
      const request = {
        containerId,
        parentCheckpoint: checkpoint.parent ?? '',
        options: checkpoint.options === undefined ? undefined : toWireAny(checkpoint.options),
      };
      const { descriptors } = await channel.unary(TasksService.checkpoint, request, options);
      return descriptors.map(fromWireDescriptor);
    },
    async update({ containerId, resources, annotations = {} }, options) {
      await channel.unary(TasksService.update, { containerId, resources: toWireAny(resources), annotations }, options);
    },
    async metrics(filters = [], options) {
      const { metrics } = await channel.unary(TasksService.metrics, { filters: [...filters] }, options);
      return metrics.map(({ id, timestamp, data }) => ({
        containerId: id,
        timestamp: toNanos(timestamp),
        ...(data === undefined ? {} : { data: fromWireAny(data) }),
      }));
    },
    async resizePty(containerId, { width, height, execId = '' }, options) {
      await channel.unary(TasksService.resizePty, { containerId, execId, width, height }, options);
    },
    async closeIo(containerId, execId = '', options) {
      await channel.unary(TasksService.closeIo, { containerId, execId, stdin: true }, options);
    },
  };
}

const statuses: Readonly<Record<number, TaskStatus>> = {
  [WireStatus.CREATED]: 'created',
  [WireStatus.RUNNING]: 'running',
  [WireStatus.STOPPED]: 'stopped',
  [WireStatus.PAUSED]: 'paused',
  [WireStatus.PAUSING]: 'pausing',
};

function exit(reply: { pid: number; exitStatus: number; exitedAt: Process['exitedAt'] }): Exit {
  return { pid: reply.pid, exitStatus: reply.exitStatus, exitedAt: toNanos(reply.exitedAt) };
}

function taskProcess(containerId: string, execId: string, reply: Process = Process.fromPartial({})): TaskProcess {
  const { pid, status, exitStatus, exitedAt, stdin, stdout, stderr, terminal } = reply;
  return {
    containerId,
    execId,
    pid,
    status: statuses[status] ?? 'unknown',
    exitStatus,
    exitedAt: toNanos(exitedAt),
    stdin,
    stdout,
    stderr,
    terminal,
  };
}
