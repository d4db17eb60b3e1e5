import { lstat, readdir, realpath } from 'node:fs/promises';
import { isAbsolute, posix } from 'node:path';
import type { Device, LinuxContainerSecurityContext } from '@criquet/cri-api';
import type { LinuxDevice, LinuxDeviceCgroup } from '@criquet/runtime-containerd';
import { invalidArgument } from '../errors.js';
import { toDevice } from './device-node.js';
import { checkId } from './id-range.js';
import type { ResolvedDevices } from './inputs.js';

/** An id that is left out stays as on the node. */
export type DeviceOwner = Pick<LinuxDevice, 'uid' | 'gid'>;

/** Below `/dev`: file systems of their own, which every container gets new, and what LXD and udev keep there. */
const SKIPPED_DIRECTORIES: ReadonlySet<string> = new Set([
  'pts',
  'shm',
  'fd',
  'mqueue',
  '.lxc',
  '.lxd-mounts',
  '.udev',
]);
/** The node's console is never a container's. */
const SKIPPED_FILES: ReadonlySet<string> = new Set(['console']);

const DENY_ALL: LinuxDeviceCgroup = { allow: false, access: 'rwm' };
const ALLOW_ALL: LinuxDeviceCgroup = { allow: true, access: 'rwm' };

/**
 * The devices of a container and the cgroup's rules for them: all forbidden, then CRI's allowed one by one; a privileged
 * container gets every device of the node. (The runtime adds null, zero, full, random, urandom, tty and ptmx itself.)
 *
 * A `host_path` may be a symbolic link to a node, or a directory, which stands for the nodes below it; links inside one
 * are left out.
 *
 * @param wanted ContainerConfig.devices; these belong to `owner`, where there is one, instead of to their owners on the node.
 * @param options.privilegedDevices what of the node's devices a privileged container gets: all (the default), only the right to make any, or none.
 * @param root where the node's devices are, other than `/dev` in tests.
 * @throws INVALID_ARGUMENT naming `config.devices[i]` for a missing path, a path that is no device, or wrong permissions.
 */
export async function resolveDevices(
  wanted: readonly Device[],
  options: { privileged: boolean; owner?: DeviceOwner; privilegedDevices?: 'all' | 'allowed' | 'none' },
  root = '/dev',
): Promise<ResolvedDevices> {
  const requested = await Promise.all(
    wanted.map((device, index) => requestedDevices(device, `config.devices[${index}]`)),
  );
  const given = options.privileged ? (options.privilegedDevices ?? 'all') : 'none';
  const ofNode = given === 'all' ? await devicesBelow(root, root) : [];
  const devices = new Map<string, LinuxDevice>();
  for (const device of [...requested.flatMap(({ devices: list }) => list).map((item) => ({ ...item, ...options.owner })), ...ofNode]) {
    if (!devices.has(device.path)) devices.set(device.path, device);
  }
  const rules = requested.flatMap(({ devices: list, access }) =>
    list.map((device) => ({ allow: true, type: cgroupType(device), major: device.major, minor: device.minor, access })),
  );
  return { devices: [...devices.values()], rules: given === 'none' ? [DENY_ALL, ...rules] : [DENY_ALL, ...rules, ALLOW_ALL] };
}

/**
 * Who owns a container's devices with `device_ownership_from_security_context`: its user and group, where CRI gives them as numbers.
 * Root needs no ownership.
 *
 * @throws INVALID_ARGUMENT for an id out of range.
 */
export function deviceOwner(context: Pick<LinuxContainerSecurityContext, 'runAsUser' | 'runAsGroup'> | undefined): DeviceOwner {
  const uid = checkId('config.linux.security_context.run_as_user', context?.runAsUser?.value ?? 0n);
  const gid = checkId('config.linux.security_context.run_as_group', context?.runAsGroup?.value ?? 0n);
  return { ...(uid !== 0 && { uid }), ...(gid !== 0 && { gid }) };
}

/** The rules of a sandbox: nothing but what the runtime always allows. */
export function sandboxDeviceRules(): LinuxDeviceCgroup[] {
  return [DENY_ALL];
}

async function requestedDevices(device: Device, field: string): Promise<{ devices: LinuxDevice[]; access: string }> {
  const access = device.permissions === '' ? 'rwm' : device.permissions;
  if (!/^(?!.*(.).*\1)[rwm]{1,3}$/.test(access)) {
    throw invalidArgument(`${field}.permissions`, `${JSON.stringify(access)} is not made of r, w and m`);
  }
  if (!isAbsolute(device.hostPath)) {
    throw invalidArgument(`${field}.host_path`, `${JSON.stringify(device.hostPath)} is not an absolute path`);
  }
  const containerPath = device.containerPath === '' ? device.hostPath : device.containerPath;
  if (!isAbsolute(containerPath)) {
    throw invalidArgument(`${field}.container_path`, `${JSON.stringify(containerPath)} is not an absolute path`);
  }
  try {
    const path = await realpath(device.hostPath);
    const stats = await lstat(path, { bigint: true });
    if (stats.isDirectory()) return { devices: await devicesBelow(path, containerPath), access };
    const found = toDevice(stats, containerPath);
    if (found !== undefined) return { devices: [found], access };
  } catch (error) {
    const reason =
      (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : String((error as Error).message);
    const described = invalidArgument(`${field}.host_path`, `${JSON.stringify(device.hostPath)} ${reason}`);
    described.cause = error;
    throw described;
  }
  throw invalidArgument(`${field}.host_path`, `${JSON.stringify(device.hostPath)} is not a device`);
}

/** The device nodes of a tree; what goes away meanwhile is left out. */
async function devicesBelow(path: string, containerPath: string): Promise<LinuxDevice[]> {
  const entries = await readdir(path, { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry): Promise<LinuxDevice[]> => {
      const inside = posix.join(containerPath, entry.name);
      const here = posix.join(path, entry.name);
      try {
        if (entry.isDirectory()) return SKIPPED_DIRECTORIES.has(entry.name) ? [] : await devicesBelow(here, inside);
        if (SKIPPED_FILES.has(entry.name) || !(entry.isBlockDevice() || entry.isCharacterDevice())) return [];
        const device = toDevice(await lstat(here, { bigint: true }), inside);
        return device === undefined ? [] : [device];
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
        throw error;
      }
    }),
  );
  return found.flat();
}

function cgroupType(device: LinuxDevice): 'b' | 'c' {
  return device.type === 'b' ? 'b' : 'c';
}
