import type { Any } from '../any.js';
import { ContainerCreate, ContainerDelete, ContainerUpdate } from '../gen/events/container.js';
import { ImageCreate, ImageDelete, ImageUpdate } from '../gen/events/image.js';
import {
  TaskCheckpointed,
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
import { toNanos } from '../grpc/timestamp.js';
import type { Envelope } from './events.js';
import type { ContainerdEvent } from './event-types.js';

type Head = Pick<Envelope, 'namespace' | 'timestamp'>;
type Decode = (head: Head, value: Uint8Array) => ContainerdEvent;

/** By type URL: a topic alone says nothing about the bytes, since anybody may publish under any topic. */
const decoders: Readonly<Record<string, Decode>> = {
  'containerd.events.TaskCreate': (head, value) => {
    const { containerId, bundle, pid } = TaskCreate.decode(value);
    return { ...head, topic: '/tasks/create', containerId, bundle, pid };
  },
  'containerd.events.TaskStart': (head, value) => {
    const { containerId, pid } = TaskStart.decode(value);
    return { ...head, topic: '/tasks/start', containerId, pid };
  },
  'containerd.events.TaskExit': (head, value) => ({ ...head, topic: '/tasks/exit', ...ended(TaskExit.decode(value)) }),
  'containerd.events.TaskDelete': (head, value) => ({ ...head, topic: '/tasks/delete', ...ended(TaskDelete.decode(value)) }),
  'containerd.events.TaskOOM': (head, value) => {
    return { ...head, topic: '/tasks/oom', containerId: TaskOOM.decode(value).containerId };
  },
  'containerd.events.TaskPaused': (head, value) => {
    return { ...head, topic: '/tasks/paused', containerId: TaskPaused.decode(value).containerId };
  },
  'containerd.events.TaskResumed': (head, value) => {
    return { ...head, topic: '/tasks/resumed', containerId: TaskResumed.decode(value).containerId };
  },
  'containerd.events.TaskExecAdded': (head, value) => {
    const { containerId, execId } = TaskExecAdded.decode(value);
    return { ...head, topic: '/tasks/exec-added', containerId, execId };
  },
  'containerd.events.TaskExecStarted': (head, value) => {
    const { containerId, execId, pid } = TaskExecStarted.decode(value);
    return { ...head, topic: '/tasks/exec-started', containerId, execId, pid };
  },
  'containerd.events.TaskCheckpointed': (head, value) => {
    const { containerId, checkpoint } = TaskCheckpointed.decode(value);
    return { ...head, topic: '/tasks/checkpointed', containerId, checkpoint };
  },
  'containerd.events.ContainerCreate': (head, value) => {
    return { ...head, topic: '/containers/create', id: ContainerCreate.decode(value).id };
  },
  'containerd.events.ContainerUpdate': (head, value) => {
    return { ...head, topic: '/containers/update', id: ContainerUpdate.decode(value).id };
  },
  'containerd.events.ContainerDelete': (head, value) => {
    return { ...head, topic: '/containers/delete', id: ContainerDelete.decode(value).id };
  },
  'containerd.services.images.v1.ImageCreate': (head, value) => {
    return { ...head, topic: '/images/create', name: ImageCreate.decode(value).name };
  },
  'containerd.services.images.v1.ImageUpdate': (head, value) => {
    return { ...head, topic: '/images/update', name: ImageUpdate.decode(value).name };
  },
  'containerd.services.images.v1.ImageDelete': (head, value) => {
    return { ...head, topic: '/images/delete', name: ImageDelete.decode(value).name };
  },
};

/** The event inside an envelope; one of an unknown type, or one that does not decode, is an `OtherEvent`. */
export function decodeEvent(envelope: Envelope): ContainerdEvent {
  const { namespace, timestamp, topic, event } = envelope;
  const head: Head = { namespace, timestamp };
  const decode = decoders[bareName(event)];
  if (decode !== undefined) {
    try {
      return decode(head, event.value);
    } catch {
      // Rubbish under a known name: the reader gets the bytes.
    }
  }
  return { ...head, topic: '', otherTopic: topic, event };
}

function bareName({ typeUrl }: Any): string {
  return typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
}

function ended({ containerId, id, pid, exitStatus, exitedAt }: TaskExit | TaskDelete) {
  // On the wire the first process has the container's id, and a delete of the whole task an empty one.
  return { containerId, execId: id === containerId ? '' : id, pid, exitStatus, exitedAt: toNanos(exitedAt) };
}
