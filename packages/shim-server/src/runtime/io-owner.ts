import { decodeRuncOptions, runcOptions, runcOptionsTypeUrl, type NewTask } from '@criquet/runtime-containerd';

/**
 * The options of a task whose pipes belong to the container's user on the node: otherwise a process in a user namespace could not open
 * /dev/stdout again. Only runc's shim has such an option; others are asked for nothing.
 */
export function ownedIo(task: Pick<NewTask, 'options' | 'runtimePath'>, owner: { uid: number; gid: number }): typeof task {
  const { options } = task;
  if (options?.typeUrl !== runcOptionsTypeUrl) return task;
  return { ...task, options: runcOptions({ ...decodeRuncOptions(options), ioUid: owner.uid, ioGid: owner.gid }) };
}
