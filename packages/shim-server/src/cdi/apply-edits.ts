import { posix } from 'node:path';
import type {
  LinuxDevice,
  LinuxDeviceCgroup,
  LinuxIntelRdt,
  RuntimeSpec,
  SpecHooks,
  SpecLinux,
  SpecMount,
  SpecProcess,
} from '@criquet/runtime-containerd';
import type { PreparedDevice, PreparedEdits } from './prepare-edits.js';

/** A spec with CDI's edits in it: what they name replaces what the spec had under that name or at that place. */
export function applyEdits(spec: RuntimeSpec, edits: PreparedEdits): RuntimeSpec {
  const hooks = withHooks(spec.hooks ?? {}, edits.hooks);
  return {
    ...spec,
    ...(spec.process === undefined ? {} : { process: withProcess(spec.process, edits) }),
    mounts: withMounts(spec, edits.mounts),
    ...(Object.keys(hooks).length === 0 ? {} : { hooks }),
    linux: withLinux(spec, edits),
  };
}

function withProcess(process: SpecProcess, { env, additionalGids }: PreparedEdits): SpecProcess {
  const variables = new Map([...(process.env ?? []), ...env].map((entry) => [entry.slice(0, entry.indexOf('=')), entry]));
  // CDI: values of 0 are ignored, a device gives nobody root's group.
  const gids = new Set([...(process.user.additionalGids ?? []), ...additionalGids.filter((gid) => gid !== 0)]);
  return {
    ...process,
    env: [...variables.values()],
    user: { ...process.user, additionalGids: [...gids].sort((a, b) => a - b) },
  };
}

function withMounts({ mounts = [], linux }: RuntimeSpec, added: PreparedEdits['mounts']): SpecMount[] {
  if (added.length === 0) return mounts;
  const ownIds = linux?.namespaces?.some(({ type }) => type === 'user') === true;
  const made = new Map(added.map((mount) => [posix.normalize(mount.containerPath), toMount(mount, ownIds)]));
  const kept = mounts.filter(({ destination }) => !made.has(posix.normalize(destination)));
  return [...kept, ...made.values()].sort((a, b) => depth(a) - depth(b));
}

/** In a user namespace a bind mount shows the owners that it has on the node. */
function toMount({ hostPath, containerPath, type, options = [] }: PreparedEdits['mounts'][number], ownIds: boolean): SpecMount {
  const kind = options.includes('rbind') ? 'ridmap' : options.includes('bind') || type === 'bind' ? 'idmap' : undefined;
  const mapped = options.includes('idmap') || options.includes('ridmap');
  return {
    destination: containerPath,
    ...(type === undefined ? {} : { type }),
    source: hostPath,
    options: ownIds && kind !== undefined && !mapped ? [...options, kind] : options,
  };
}

function depth({ destination }: SpecMount): number {
  return posix.resolve('/', destination).split('/').filter(Boolean).length;
}

function withHooks(hooks: SpecHooks, added: PreparedEdits['hooks']): SpecHooks {
  const result: SpecHooks = { ...hooks };
  for (const { hookName, path, args, env, timeout } of added) {
    const hook = { path, ...(args && { args }), ...(env && { env }), ...(timeout === undefined ? {} : { timeout }) };
    result[hookName] = [...(result[hookName] ?? []), hook];
  }
  return result;
}

function withLinux({ linux = {}, process }: RuntimeSpec, edits: PreparedEdits): SpecLinux {
  const devices = edits.devices.map(({ device }) => owned(device, process));
  const paths = new Set(devices.map(({ path }) => path));
  const netDevices = Object.fromEntries(edits.netDevices.map(({ hostInterfaceName, name }) => [hostInterfaceName, { name }]));
  return {
    ...linux,
    devices: [...(linux.devices ?? []).filter(({ path }) => !paths.has(path)), ...devices],
    resources: {
      ...linux.resources,
      devices: [...(linux.resources?.devices ?? []), ...edits.devices.flatMap(rule)],
    },
    ...(edits.netDevices.length === 0 ? {} : { netDevices: { ...linux.netDevices, ...netDevices } }),
    ...(edits.intelRdt === undefined ? {} : { intelRdt: rdt(edits.intelRdt) }),
  };
}

function owned(device: LinuxDevice, process: SpecProcess | undefined): LinuxDevice {
  return { uid: process?.user.uid ?? 0, gid: process?.user.gid ?? 0, ...device };
}

/** Everything is forbidden from the start, so nothing needs no rule. */
function rule({ device, access }: PreparedDevice): LinuxDeviceCgroup[] {
  const { type, major, minor } = device;
  return type === 'p' || access === '' ? [] : [{ allow: true, type: type === 'b' ? 'b' : 'c', major, minor, access }];
}

function rdt({ closID, l3CacheSchema, memBwSchema, schemata, enableMonitoring }: NonNullable<PreparedEdits['intelRdt']>): LinuxIntelRdt {
  return {
    ...(closID === undefined ? {} : { closID }),
    ...(l3CacheSchema === undefined ? {} : { l3CacheSchema }),
    ...(memBwSchema === undefined ? {} : { memBwSchema }),
    ...(schemata === undefined ? {} : { schemata }),
    ...(enableMonitoring === undefined ? {} : { enableMonitoring }),
  };
}
