import { isDeepStrictEqual } from 'node:util';
import type { ContainerConfig } from '@criquet/cri-api';
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
  requireEqual(field, processParts(dumped, wanted));
}

/**
 * That a configuration says nothing of the process that is not so in the checkpoint. What it leaves unset is as it was there, and so is the
 * environment in any case: the kubelet sets the addresses of services, which are others in every pod.
 *
 * @throws FAILED_PRECONDITION naming the field
 */
export function requireNoContradiction(field: string, dumped: RuntimeSpec, wanted: RuntimeSpec, config: ContainerConfig): void {
  const security = config.linux?.securityContext;
  const { addCapabilities: add = [], dropCapabilities: drop = [], addAmbientCapabilities: ambient = [] } = security?.capabilities ?? {};
  const set: Readonly<Record<ProcessPart, boolean>> = {
    'command and args': config.command.length + config.args.length > 0,
    working_dir: config.workingDir !== '',
    envs: false,
    [USER]: security?.runAsUser !== undefined || (security?.runAsUsername ?? '') !== '' || security?.runAsGroup !== undefined || (security?.supplementalGroups ?? []).length > 0,
    [CAPABILITIES]: security?.privileged === true || [add, drop, ambient].some((names) => names.length > 0),
    [NO_NEW_PRIVS]: security?.noNewPrivs === true,
    [APPARMOR]: security?.apparmor !== undefined || (security?.apparmorProfile ?? '') !== '',
    [SELINUX]: security?.selinuxOptions !== undefined,
    [SECCOMP]: security?.seccomp !== undefined || (security?.seccompProfilePath ?? '') !== '',
  };
  requireEqual(field, processParts(dumped, wanted).filter(([part]) => set[part]));
}

/** The spec of a container whose process comes out of a checkpoint: all of the process is as it was, whatever the image would say. */
export function withDumpedProcess(dumped: RuntimeSpec, wanted: RuntimeSpec): RuntimeSpec {
  if (dumped.process === undefined) return wanted;
  const { seccomp: _, ...linux } = wanted.linux ?? {};
  const seccomp = dumped.linux?.seccomp;
  return { ...wanted, process: dumped.process, linux: { ...linux, ...(seccomp !== undefined && { seccomp }) } };
}

const SECURITY = 'linux.security_context';
const USER = `${SECURITY}.run_as_user, run_as_group and supplemental_groups`;
const CAPABILITIES = `${SECURITY}.capabilities`;
const NO_NEW_PRIVS = `${SECURITY}.no_new_privs`;
const APPARMOR = `${SECURITY}.apparmor`;
const SELINUX = `${SECURITY}.selinux_options`;
const SECCOMP = `${SECURITY}.seccomp`;

type ProcessPart = 'command and args' | 'working_dir' | 'envs' | typeof USER | typeof CAPABILITIES | typeof NO_NEW_PRIVS | typeof APPARMOR | typeof SELINUX | typeof SECCOMP;

/** What was and what is wanted of a process, by the field that says it. */
function processParts(dumped: RuntimeSpec, wanted: RuntimeSpec): [ProcessPart, unknown, unknown][] {
  const [before, now] = [dumped.process, wanted.process];
  return [
    ['command and args', before?.args, now?.args],
    ['working_dir', before?.cwd, now?.cwd],
    ['envs', environment(before?.env), environment(now?.env)],
    [USER, user(dumped), user(wanted)],
    [CAPABILITIES, capabilities(dumped), capabilities(wanted)],
    [NO_NEW_PRIVS, before?.noNewPrivileges ?? false, now?.noNewPrivileges ?? false],
    [APPARMOR, before?.apparmorProfile ?? '', now?.apparmorProfile ?? ''],
    [SELINUX, before?.selinuxLabel ?? '', now?.selinuxLabel ?? ''],
    [SECCOMP, dumped.linux?.seccomp, wanted.linux?.seccomp],
  ];
}

function requireEqual(field: string, parts: readonly [ProcessPart, unknown, unknown][]): void {
  for (const [part, was, is] of parts) if (!isDeepStrictEqual(was, is)) throw otherProcess(`${field}.${part}`);
}

/** Environment values and profiles may be secret or long: the field alone is named. */
function otherProcess(field: string): ShimError {
  return failedPrecondition(`${field}: not what the checkpointed process had`);
}

/** Without the host name, which is the pod's and may be another. */
function environment(env: readonly string[] = []): string[] {
  return sorted(env.filter((entry) => !isHostname(entry)));
}

function isHostname(entry: string): boolean {
  return entry.startsWith('HOSTNAME=');
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
