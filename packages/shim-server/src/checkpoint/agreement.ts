import { isDeepStrictEqual } from 'node:util';
import type { RuntimeSpec, SpecMount } from '@criquet/runtime-containerd';
import { failedPrecondition, type ShimError } from '../errors.js';

/**
 * What CRIU needs to find as it was: whether there is a terminal, which files of the node are mounted where, and which namespaces are the
 * container's own. A mount that the checkpoint does not know would be left out of the restored container without a word.
 *
 * @param field CRI path of the configuration, for messages
 * @throws FAILED_PRECONDITION naming the field that does not fit
 */
export function requireRestorable(field: string, dumped: RuntimeSpec, wanted: RuntimeSpec): void {
  if (Boolean(dumped.process?.terminal) !== Boolean(wanted.process?.terminal)) {
    throw mismatch(`${field}.tty`, dumped.process?.terminal === true, wanted.process?.terminal === true);
  }
  const missing = difference(bindTargets(dumped), bindTargets(wanted));
  if (missing.length > 0) throw failedPrecondition(`${field}.mounts: the checkpoint has mounts at ${missing.join(', ')} that the configuration lacks`);
  const added = difference(bindTargets(wanted), bindTargets(dumped));
  if (added.length > 0) throw failedPrecondition(`${field}.mounts: the checkpoint knows no mounts at ${added.join(', ')}`);
  const [before, now] = [namespaces(dumped), namespaces(wanted)];
  if (!isDeepStrictEqual(before, now)) throw mismatch(`${field}.linux.security_context.namespace_options`, before, now);
  for (const map of ['uidMappings', 'gidMappings'] as const) {
    const [was, is] = [dumped.linux?.[map] ?? [], wanted.linux?.[map] ?? []];
    if (!isDeepStrictEqual(was, is)) throw mismatch(`${field}.linux.security_context.namespace_options.userns_options`, was, is);
  }
}

/**
 * That a configuration describes the process that was checkpointed, as CRI RestorePod wants it. CRIU brings back all of this from its images,
 * so that anything else would be ignored.
 *
 * @throws FAILED_PRECONDITION naming the field
 */
export function requireSameProcess(field: string, dumped: RuntimeSpec, wanted: RuntimeSpec): void {
  const [before, now] = [dumped.process, wanted.process];
  const security = `${field}.linux.security_context`;
  const parts: readonly [string, unknown, unknown][] = [
    [`${field}.command and args`, before?.args, now?.args],
    [`${field}.working_dir`, before?.cwd, now?.cwd],
    [`${field}.envs`, sorted(before?.env), sorted(now?.env)],
    [`${security}.run_as_user, run_as_group and supplemental_groups`, user(dumped), user(wanted)],
    [`${security}.capabilities`, capabilities(dumped), capabilities(wanted)],
    [`${security}.no_new_privs`, before?.noNewPrivileges ?? false, now?.noNewPrivileges ?? false],
    [`${security}.apparmor`, before?.apparmorProfile ?? '', now?.apparmorProfile ?? ''],
    [`${security}.selinux_options`, before?.selinuxLabel ?? '', now?.selinuxLabel ?? ''],
    [`${security}.seccomp`, dumped.linux?.seccomp, wanted.linux?.seccomp],
  ];
  for (const [name, was, is] of parts) {
    // Environment values and profiles may be secret or long: the field alone is named.
    if (!isDeepStrictEqual(was, is)) throw failedPrecondition(`${name}: not what the checkpointed process had`);
  }
}

function bindTargets({ mounts = [] }: RuntimeSpec): string[] {
  return mounts.filter(isBind).map(({ destination }) => destination);
}

function isBind({ type, options = [] }: SpecMount): boolean {
  return type === 'bind' || options.includes('bind') || options.includes('rbind');
}

/** Types, and whether each is joined; where it is joined differs from pod to pod. */
function namespaces({ linux }: RuntimeSpec): string[] {
  return (linux?.namespaces ?? []).map(({ type, path }) => `${type}${path === undefined || path === '' ? '' : ' of the pod'}`).sort();
}

function user({ process }: RuntimeSpec): unknown {
  const { uid = 0, gid = 0, additionalGids = [] } = process?.user ?? {};
  return { uid, gid, additionalGids: [...additionalGids].sort((a, b) => a - b) };
}

function capabilities({ process }: RuntimeSpec): unknown {
  const { effective, permitted, inheritable, bounding, ambient } = process?.capabilities ?? {};
  return [effective, permitted, inheritable, bounding, ambient].map(sorted);
}

function sorted(values: readonly string[] = []): string[] {
  return [...values].sort();
}

function difference(all: readonly string[], without: readonly string[]): string[] {
  return all.filter((value) => !without.includes(value));
}

function mismatch(field: string, was: unknown, is: unknown): ShimError {
  return failedPrecondition(`${field}: the checkpoint has ${JSON.stringify(was)}, the configuration ${JSON.stringify(is)}`);
}
