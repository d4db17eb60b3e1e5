import { posix } from 'node:path';
import type {
  LinuxDeviceCgroup,
  LinuxResources,
  RuntimeSpec,
  SpecHooks,
  SpecLinux,
  SpecMount,
  SpecProcess,
} from '@criquet/runtime-containerd';

/** The file systems that a base spec may have with options of its own; elsewhere what criquet mounts counts. */
const BASE_FILE_SYSTEMS: ReadonlySet<string> = new Set(['/proc', '/dev', '/dev/pts', '/dev/mqueue']);
/** `ctr oci spec` writes a tmpfs there, which would hide what the image has. */
const NEVER_MOUNTED: ReadonlySet<string> = new Set(['/run']);

/**
 * A container's spec made from a base spec: what CRI and criquet decide goes over it, everything else of it stays.
 *
 * Who the process is, what it executes, its namespaces, cgroup, masked paths and host name are never the base's. Lists are joined, an entry of
 * the container's own taking the place of one with the same name: environment, rlimits, mounts, devices, annotations, sysctls.
 * Hooks of the base run first. A filter or profile of the base holds where the pod has none, but not in a privileged container.
 * Default capabilities are not looked at here: {@link baseCapabilities}.
 */
export function withBaseSpec(base: RuntimeSpec, spec: RuntimeSpec, options: { readonly privileged: boolean }): RuntimeSpec {
  const kept: Partial<RuntimeSpec> = { ...base };
  delete kept.hostname;
  delete kept.domainname;
  const hooks = joinHooks(base.hooks, spec.hooks);
  return {
    ...kept,
    ...spec,
    ...((base.process ?? spec.process) === undefined ? {} : { process: mergeProcess(base.process, spec.process, options) }),
    mounts: mergeMounts(base.mounts ?? [], spec.mounts ?? []),
    ...(hooks === undefined ? {} : { hooks }),
    annotations: { ...base.annotations, ...spec.annotations },
    linux: mergeLinux(base.linux ?? {}, spec.linux ?? {}, options),
  };
}

/** What a container is given before CRI adds and drops; undefined when the base does not say. */
export function baseCapabilities(base: RuntimeSpec | undefined): readonly string[] | undefined {
  return base?.process?.capabilities?.bounding;
}

function mergeProcess(
  base: SpecProcess | undefined,
  own: SpecProcess | undefined,
  { privileged }: { readonly privileged: boolean },
): SpecProcess {
  const kept: Partial<SpecProcess> = { ...base };
  if (privileged) delete kept.apparmorProfile;
  delete kept.selinuxLabel;
  delete kept.terminal;
  delete kept.consoleSize;
  const rlimits = joined(base?.rlimits, own?.rlimits, ({ type }) => type);
  const env = joined(base?.env, own?.env, (variable) => variable.split('=', 1)[0] ?? '');
  return {
    ...kept,
    ...(own ?? { user: { uid: 0, gid: 0 }, cwd: '/' }),
    ...(rlimits === undefined ? {} : { rlimits }),
    ...(env === undefined ? {} : { env }),
  };
}

function mergeLinux(base: SpecLinux, own: SpecLinux, { privileged }: { readonly privileged: boolean }): SpecLinux {
  const kept: SpecLinux = { ...base };
  if (privileged) delete kept.seccomp;
  delete kept.uidMappings;
  delete kept.gidMappings;
  delete kept.cgroupsPath;
  delete kept.mountLabel;
  const namespaces = joined(base.namespaces?.filter(({ type }) => type === 'time'), own.namespaces, ({ type }) => type);
  const devices = joined(base.devices, own.devices, ({ path }) => path);
  const sysctl = base.sysctl === undefined && own.sysctl === undefined ? undefined : { ...base.sysctl, ...own.sysctl };
  return {
    ...kept,
    ...own,
    resources: mergeResources(base.resources ?? {}, own.resources ?? {}),
    ...(namespaces === undefined ? {} : { namespaces }),
    ...(devices === undefined ? {} : { devices }),
    ...(sysctl === undefined ? {} : { sysctl }),
  };
}

function mergeResources(base: LinuxResources, own: LinuxResources): LinuxResources {
  const over = <K extends 'memory' | 'cpu' | 'blockIO' | 'unified'>(key: K) =>
    base[key] === undefined && own[key] === undefined ? {} : { [key]: { ...base[key], ...own[key] } };
  const hugepageLimits = joined(base.hugepageLimits, own.hugepageLimits, ({ pageSize }) => pageSize);
  return {
    ...base,
    ...own,
    ...over('memory'),
    ...over('cpu'),
    ...over('blockIO'),
    ...over('unified'),
    ...(hugepageLimits === undefined ? {} : { hugepageLimits }),
    devices: mergeDeviceRules(base.devices ?? [], own.devices ?? []),
  };
}

/** The container's first rule forbids everything, so what the base allows comes after it; the base's own such rule says nothing new. */
function mergeDeviceRules(base: readonly LinuxDeviceCgroup[], own: readonly LinuxDeviceCgroup[]): LinuxDeviceCgroup[] {
  const isForAll = ({ type = 'a', major, minor }: LinuxDeviceCgroup) => type === 'a' && major === undefined && minor === undefined;
  const [first, ...rest] = own;
  return [...(first === undefined ? [] : [first]), ...base.filter((rule) => rule.allow || !isForAll(rule)), ...rest];
}

/** In the order of the container's mounts; a further one of the base before the first that lies deeper. */
function mergeMounts(base: readonly SpecMount[], own: readonly SpecMount[]): SpecMount[] {
  const at = ({ destination }: SpecMount) => posix.resolve('/', destination);
  const bases = new Map(base.map((mount) => [at(mount), mount]));
  const merged = own.map((mount) => (BASE_FILE_SYSTEMS.has(at(mount)) && mount.type !== 'bind' ? (bases.get(at(mount)) ?? mount) : mount));
  const taken = new Set(own.map(at));
  // Below a directory that CRI mounts on the base's mounts are the container's business no more.
  const hidden = (path: string) => own.some((mount) => mount.type === 'bind' && path.startsWith(`${at(mount)}/`));
  for (const mount of base) {
    const path = at(mount);
    if (taken.has(path) || NEVER_MOUNTED.has(path) || hidden(path)) continue;
    const deeper = merged.findIndex((other) => at(other).startsWith(path === '/' ? '/' : `${path}/`));
    merged.splice(deeper === -1 ? merged.length : deeper, 0, mount);
    taken.add(path);
  }
  return merged;
}

function joinHooks(base: SpecHooks | undefined, own: SpecHooks | undefined): SpecHooks | undefined {
  if (base === undefined || own === undefined) return base ?? own;
  const names = new Set([...Object.keys(base), ...Object.keys(own)]) as Set<keyof SpecHooks>;
  return Object.fromEntries([...names].map((name) => [name, [...(base[name] ?? []), ...(own[name] ?? [])]]));
}

/** The base's entries, then the container's own, which take the place of the base's of the same name. */
function joined<T>(base: readonly T[] | undefined, own: readonly T[] | undefined, name: (entry: T) => string): T[] | undefined {
  if (base === undefined && own === undefined) return undefined;
  const names = new Set(own?.map(name));
  return [...(base ?? []).filter((entry) => !names.has(name(entry))), ...(own ?? [])];
}
