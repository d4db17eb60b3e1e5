import { SupplementalGroupsPolicy, type ContainerConfig, type LinuxSandboxSecurityContext } from '@criquet/cri-api';
import type { ImageRunConfig } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument } from '../errors.js';
import { checkId } from './id-range.js';
import type { ResolvedUser } from './inputs.js';
import { readRootfsFile, RootfsFileError } from './rootfs-file.js';
import { groupEntries, isMember, passwdEntries, type GroupEntry, type PasswdEntry } from './user-database.js';

/** Root without more groups: what stands in a spec before the user is known. */
export const ROOT_USER: ResolvedUser = { uid: 0, gid: 0, additionalGids: [0] };

/** Who a container is to run as, as CRI and the image say it. */
export interface UserRequest {
  /** The image's `User`: `user`, `uid`, `user:group` and so on; empty is root. */
  imageUser: string;
  runAsUser: bigint | undefined;
  /** Empty when not given. It goes before `runAsUser`. */
  runAsUsername: string;
  runAsGroup: bigint | undefined;
  supplementalGroups: readonly bigint[];
  policy: SupplementalGroupsPolicy;
}

const FIELD = 'config.linux.security_context';
/** Tens of thousands of users. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** A process cannot be in more groups (Linux NGROUPS_MAX). */
const MAX_GROUPS = 65_536;

export function userRequest(config: ContainerConfig, image: ImageRunConfig): UserRequest {
  const context = config.linux?.securityContext;
  return {
    imageUser: image.User ?? '',
    runAsUser: context?.runAsUser?.value,
    runAsUsername: context?.runAsUsername ?? '',
    runAsGroup: context?.runAsGroup?.value,
    supplementalGroups: context?.supplementalGroups ?? [],
    policy: context?.supplementalGroupsPolicy ?? SupplementalGroupsPolicy.Merge,
  };
}

/** The user of a sandbox without an image: the numbers of its security context, root by default. */
export function sandboxUser(context: LinuxSandboxSecurityContext | undefined): ResolvedUser {
  if (context?.runAsGroup !== undefined && context.runAsUser === undefined) throw groupWithoutUser();
  const uid = checkId(`${FIELD}.run_as_user`, context?.runAsUser?.value ?? 0n);
  const gid = checkId(`${FIELD}.run_as_group`, context?.runAsGroup?.value ?? 0n);
  return { uid, gid, additionalGids: sorted([gid, ...supplementalGids(context?.supplementalGroups ?? [])]) };
}

/** Either a number or a name, and the field to blame. */
interface Wanted {
  field: string;
  text: string;
  id: number | undefined;
}

/**
 * Finds user, group and further groups of a container. CRI goes before the image; names and, for numbers without a group, the
 * user's primary group are looked up in the root file system's `/etc/passwd` and `/etc/group`. With policy Merge the user
 * also gets every group whose line in `/etc/group` names it; with Strict only those of CRI.
 *
 * @param rootfs the mounted root file system; not touched when the request has everything in numbers and is Strict.
 * @throws INVALID_ARGUMENT naming the field for an unknown name or an id outside 0 to 2^31-1 (never wrapped round to root);
 * FAILED_PRECONDITION for a user database that cannot be read.
 */
export async function resolveUser(rootfs: string, request: UserRequest): Promise<ResolvedUser> {
  const { user, group } = wantedIds(request);
  const supplemental = supplementalGids(request.supplementalGroups);
  const merge = mergesGroups(request.policy);
  const needsPasswd = user.id === undefined || group === undefined || merge;
  const needsGroups = (group !== undefined && group.id === undefined) || merge;
  const passwd = needsPasswd ? await databaseText(rootfs, '/etc/passwd') : '';
  const groups = needsGroups ? await databaseText(rootfs, '/etc/group') : '';
  const entry = first(passwdEntries(passwd), (line) => (user.id === undefined ? line.name === user.text : line.uid === String(user.id)));
  const uid = user.id ?? uidOf(user, entry);
  const gid = group === undefined ? primaryGid(entry) : (group.id ?? gidOf(group, groups));
  const name = entry?.name ?? (user.id === undefined ? user.text : undefined);
  const additional = merge && name !== undefined ? gidsOfMember(groups, name) : [];
  return { uid, gid, additionalGids: sorted([gid, ...additional, ...supplemental]) };
}

/** Whether `resolveUser` would read the root file system. */
export function userNeedsRootfs(request: UserRequest): boolean {
  const { user, group } = wantedIds(request);
  return user.id === undefined || group?.id === undefined || mergesGroups(request.policy);
}

function wantedIds(request: UserRequest): { user: Wanted; group: Wanted | undefined } {
  const group =
    request.runAsGroup === undefined
      ? undefined
      : { field: `${FIELD}.run_as_group`, text: '', id: checkId(`${FIELD}.run_as_group`, request.runAsGroup) };
  if (request.runAsUsername !== '') return { user: wanted(`${FIELD}.run_as_username`, request.runAsUsername), group };
  if (request.runAsUser !== undefined) {
    const id = checkId(`${FIELD}.run_as_user`, request.runAsUser);
    return { user: { field: `${FIELD}.run_as_user`, text: String(id), id }, group };
  }
  if (group !== undefined) throw groupWithoutUser();
  const [name = '', groupName = '', ...rest] = request.imageUser.split(':');
  const field = 'image config User';
  if (rest.length > 0) throw invalidArgument(field, `${JSON.stringify(request.imageUser)} has more than one ":"`);
  const user = name === '' ? { field, text: '0', id: 0 } : wanted(field, name);
  return { user, group: groupName === '' ? undefined : wanted(field, groupName) };
}

/** CRI: "run_as_group should only be specified when run_as_user or run_as_username is specified". */
function groupWithoutUser(): Error {
  return invalidArgument(`${FIELD}.run_as_group`, 'needs run_as_user or run_as_username');
}

/** Text that is a number is always an id, never a name. */
function wanted(field: string, text: string): Wanted {
  return { field, text, id: /^[+-]?\d+$/.test(text) ? checkId(field, BigInt(text.replace(/^\+/, ''))) : undefined };
}

function uidOf(user: Wanted, entry: PasswdEntry | undefined): number {
  if (entry === undefined)
    throw invalidArgument(user.field, `user ${JSON.stringify(user.text)} is not in the image's /etc/passwd`);
  return databaseId('/etc/passwd', entry.name, entry.uid);
}

/** A number that is not in `/etc/passwd` has root's group, as with Docker. */
function primaryGid(entry: PasswdEntry | undefined): number {
  return entry === undefined ? 0 : databaseId('/etc/passwd', entry.name, entry.gid);
}

function gidOf(group: Wanted, groups: string): number {
  const entry = first(groupEntries(groups), ({ name }) => name === group.text);
  if (entry === undefined)
    throw invalidArgument(group.field, `group ${JSON.stringify(group.text)} is not in the image's /etc/group`);
  return databaseId('/etc/group', entry.name, entry.gid);
}

function gidsOfMember(groups: string, name: string): number[] {
  const gids: number[] = [];
  for (const entry of groupEntries(groups)) {
    if (!isMember(entry.members, name)) continue;
    gids.push(databaseId('/etc/group', entry.name, entry.gid));
    if (gids.length > MAX_GROUPS) throw failedPrecondition(`the image's user database: ${JSON.stringify(name)} is in more than ${MAX_GROUPS} groups`);
  }
  return gids;
}

function first<Entry extends GroupEntry | PasswdEntry>(entries: Iterable<Entry>, wanted: (entry: Entry) => boolean): Entry | undefined {
  for (const entry of entries) if (wanted(entry)) return entry;
  return undefined;
}

/** An id of the image's files: empty or overflowing is an error, not 0. */
function databaseId(file: string, name: string, text: string): number {
  const field = `the image's ${file}, entry ${JSON.stringify(name)}`;
  if (!/^\d+$/.test(text)) throw invalidArgument(field, `${JSON.stringify(text)} is not a number`);
  return checkId(field, BigInt(text));
}

function supplementalGids(groups: readonly bigint[]): number[] {
  return groups.map((gid, index) => checkId(`${FIELD}.supplemental_groups[${index}]`, gid));
}

function mergesGroups(policy: SupplementalGroupsPolicy): boolean {
  if (policy === SupplementalGroupsPolicy.Merge) return true;
  if (policy === SupplementalGroupsPolicy.Strict) return false;
  throw invalidArgument(`${FIELD}.supplemental_groups_policy`, `unknown policy ${policy}`);
}

/** The primary group is among them, so that a process which sets its groups anew does not lose it (CVE-2022-2989). */
function sorted(gids: readonly number[]): number[] {
  return [...new Set(gids)].sort((a, b) => a - b);
}

async function databaseText(rootfs: string, path: string): Promise<string> {
  try {
    return (await readRootfsFile(rootfs, path, MAX_FILE_BYTES))?.toString('utf8') ?? '';
  } catch (error) {
    if (!(error instanceof RootfsFileError)) throw error;
    const described = failedPrecondition(`the image's user database: ${error.message}`);
    described.cause = error;
    throw described;
  }
}
