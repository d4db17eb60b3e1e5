import { NamespaceMode, type IDMapping, type NamespaceOption, type PodSandboxConfig, type UserNamespace } from '@criquet/cri-api';
import type { LinuxIdMapping } from '@criquet/runtime-containerd';
import { invalidArgument } from '../errors.js';
import type { ResolvedUser } from './inputs.js';

/** The ids 0 to `length` - 1 of a pod's user namespace are those from `hostId` on of the node. */
export interface IdRange {
  readonly hostId: number;
  readonly length: number;
}

/** A user namespace as a pod asks for it. */
export interface PodUserNamespace {
  readonly uids: IdRange;
  readonly gids: IdRange;
}

const FIELD = 'config.linux.security_context.namespace_options';

/** 2^32 - 1 stands for "no id". */
export const NO_ID = 0xffff_ffff;

/**
 * The user namespace of a sandbox; undefined for a pod in the node's own.
 *
 * A pod has one range of user and one of group ids, as with containerd's plugin: its root file systems are mounted with ids mapped, and
 * everything in a pod belongs to its root, 0, in the end. The PID and IPC namespaces must be the pod's: the kernel lets
 * nobody mount `/proc` or `/dev/mqueue` of a namespace that another user namespace owns.
 *
 * @throws INVALID_ARGUMENT naming the field
 */
export function podUserNamespace(config: PodSandboxConfig): PodUserNamespace | undefined {
  const options = config.linux?.securityContext?.namespaceOptions;
  const userns = userNamespace(options?.usernsOptions);
  if (userns === undefined) return undefined;
  for (const field of ['pid', 'ipc'] as const) {
    if (options?.[field] === NamespaceMode.NODE) throw invalidArgument(`${FIELD}.${field}`, 'NODE is not possible in a pod with a user namespace');
  }
  return userns;
}

/**
 * Checks that a container asks for the user namespace of its pod. Nothing is the same as mode NODE.
 *
 * @throws INVALID_ARGUMENT naming the field
 */
export function checkSameUserNamespace(config: PodSandboxConfig, options: NamespaceOption | undefined): void {
  const [pod, container] = [podUserNamespace(config), userNamespace(options?.usernsOptions)];
  const same = (a: IdRange | undefined, b: IdRange | undefined) => a?.hostId === b?.hostId && a?.length === b?.length;
  if (same(pod?.uids, container?.uids) && same(pod?.gids, container?.gids)) return;
  throw invalidArgument(`${FIELD}.userns_options`, `${shown(container)}, while the pod sandbox has ${shown(pod)}`);
}

/** As a runtime spec has it. */
export function idMappings({ hostId, length }: IdRange): LinuxIdMapping[] {
  return [{ containerID: 0, hostID: hostId, size: length }];
}

/** What the user of a container is on the node. @throws INVALID_ARGUMENT when an id of it is not in the user namespace */
export function onNode({ uids, gids }: PodUserNamespace, user: Pick<ResolvedUser, 'uid' | 'gid'>): { uid: number; gid: number } {
  return { uid: toNode('user', uids, user.uid), gid: toNode('group', gids, user.gid) };
}

/** @throws INVALID_ARGUMENT when an id of the user is not in the user namespace: the runtime would say no more than "invalid argument" */
export function checkMapped(userns: PodUserNamespace, user: ResolvedUser): void {
  onNode(userns, user);
  for (const gid of user.additionalGids) toNode('group', userns.gids, gid);
}

function toNode(kind: 'user' | 'group', { hostId, length }: IdRange, id: number): number {
  if (id < length) return hostId + id;
  throw invalidArgument('config.linux.security_context', `${kind} id ${id} is not in the pod's user namespace, which has 0 to ${length - 1}`);
}

function userNamespace(options: UserNamespace | undefined): PodUserNamespace | undefined {
  if (options === undefined) return undefined;
  const field = `${FIELD}.userns_options`;
  switch (options.mode) {
    case NamespaceMode.NODE:
      if (options.uids.length + options.gids.length > 0) throw invalidArgument(field, 'mappings need mode POD');
      return undefined;
    case NamespaceMode.POD:
      return { uids: idRange(`${field}.uids`, options.uids), gids: idRange(`${field}.gids`, options.gids) };
    default:
      throw invalidArgument(`${field}.mode`, `${NamespaceMode[options.mode] ?? options.mode} is not possible: POD or NODE`);
  }
}

function idRange(field: string, mappings: readonly IDMapping[]): IdRange {
  const [mapping, ...more] = mappings;
  if (mapping === undefined) throw invalidArgument(field, 'is missing: mode POD needs a mapping');
  if (more.length > 0) throw invalidArgument(field, `has ${mappings.length} mappings, one is possible`);
  const { containerId, hostId, length } = mapping;
  if (containerId !== 0) throw invalidArgument(`${field}[0].container_id`, `is ${containerId}: the pod's root, 0, must be mapped`);
  if (length < 1) throw invalidArgument(`${field}[0].length`, `is ${length}`);
  if (hostId + length > NO_ID) throw invalidArgument(`${field}[0]`, `ends at ${hostId + length - 1}, the last id is ${NO_ID - 1}`);
  return { hostId, length };
}

function shown(userns: PodUserNamespace | undefined): string {
  if (userns === undefined) return "the node's user namespace";
  const { uids, gids } = userns;
  return `one of ${uids.length} user ids from ${uids.hostId} on and ${gids.length} group ids from ${gids.hostId} on`;
}
