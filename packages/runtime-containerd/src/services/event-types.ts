import type { Any } from '../any.js';

interface EventOf<Topic extends string> {
  readonly topic: Topic;
  readonly namespace: string;
  /** Nanoseconds since 1970. */
  readonly timestamp: bigint;
}

export interface TaskCreateEvent extends EventOf<'/tasks/create'> {
  readonly containerId: string;
  readonly bundle: string;
  readonly pid: number;
}

export interface TaskStartEvent extends EventOf<'/tasks/start'> {
  readonly containerId: string;
  readonly pid: number;
}

export interface TaskExitEvent extends EventOf<'/tasks/exit'> {
  readonly containerId: string;
  /** The exec process that ended; '' for the container's first process (whose id is the container's on the wire). */
  readonly execId: string;
  readonly pid: number;
  readonly exitStatus: number;
  /** Nanoseconds since 1970. */
  readonly exitedAt: bigint;
}

export interface TaskDeleteEvent extends EventOf<'/tasks/delete'> {
  readonly containerId: string;
  /** As in `TaskExitEvent`. */
  readonly execId: string;
  readonly pid: number;
  readonly exitStatus: number;
  readonly exitedAt: bigint;
}

export interface TaskOomEvent extends EventOf<'/tasks/oom'> {
  readonly containerId: string;
}

export interface TaskPausedEvent extends EventOf<'/tasks/paused' | '/tasks/resumed'> {
  readonly containerId: string;
}

export interface TaskExecAddedEvent extends EventOf<'/tasks/exec-added'> {
  readonly containerId: string;
  readonly execId: string;
}

export interface TaskExecStartedEvent extends EventOf<'/tasks/exec-started'> {
  readonly containerId: string;
  readonly execId: string;
  readonly pid: number;
}

export interface TaskCheckpointedEvent extends EventOf<'/tasks/checkpointed'> {
  readonly containerId: string;
  readonly checkpoint: string;
}

export interface ContainerEvent extends EventOf<'/containers/create' | '/containers/update' | '/containers/delete'> {
  readonly id: string;
}

export interface ImageEvent extends EventOf<'/images/create' | '/images/update' | '/images/delete'> {
  readonly name: string;
}

/** An event that this package has no type for. */
export interface OtherEvent extends EventOf<''> {
  /** The topic on the wire. */
  readonly otherTopic: string;
  readonly event: Any;
}

export type ContainerdEvent =
  | TaskCreateEvent
  | TaskStartEvent
  | TaskExitEvent
  | TaskDeleteEvent
  | TaskOomEvent
  | TaskPausedEvent
  | TaskExecAddedEvent
  | TaskExecStartedEvent
  | TaskCheckpointedEvent
  | ContainerEvent
  | ImageEvent
  | OtherEvent;
