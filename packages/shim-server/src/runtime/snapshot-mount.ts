import { constants } from 'node:fs';
import { mkdtemp, open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mount } from '@criquet/runtime-containerd';
import { failedPrecondition } from '../errors.js';
import { bindIdmapped } from './idmapped-mount.js';
import { bindReadOnly, mount, MountFlag } from './mount.js';
import { contextOption } from './mount-context.js';
import { removeMountPoint } from './mount-point.js';

/** mount(2) takes one page of options, the closing NUL included. */
const MAX_OPTIONS = 4095;
const O_PATH = 0o10000000;
const LOWER_DIR = 'lowerdir=';

/** The options of fstab(5) that are flags of mount(2) and not the file system's own. */
const FLAGS: ReadonlyMap<string, number> = new Map([
  ['ro', MountFlag.readonly],
  ['rw', 0],
  ['nosuid', MountFlag.nosuid],
  ['nodev', MountFlag.nodev],
  ['noexec', MountFlag.noexec],
  ['noatime', MountFlag.noatime],
]);

export interface ReadOnlyMountOptions {
  /** The SELinux label of everything in it; only a file system of several layers can have one of its own. */
  readonly context?: string | undefined;
  /** The user namespace whose users its owners are. */
  readonly userns?: { readonly path: string; /** An existing directory for mount points. */ readonly scratch: string } | undefined;
}

/**
 * Mounts a snapshot so that nothing can be written to it: without the writable layer, should it have one.
 *
 * @param target an existing directory
 * @throws FAILED_PRECONDITION for a snapshotter whose mounts containerd itself would have to prepare; MountError
 */
export async function mountReadOnly(mounts: readonly Mount[], target: string, options: ReadOnlyMountOptions = {}): Promise<void> {
  const [first, ...more] = mounts;
  if (first === undefined || more.length > 0 || first.type.includes('/')) {
    const types = mounts.map(({ type }) => type).join(', ');
    throw failedPrecondition(`a snapshot that is mounted as ${types || 'nothing'} cannot be used here`);
  }
  if (first.type === 'bind') {
    if (options.userns === undefined) bindReadOnly(first.source, target);
    else await bindIdmapped(first.source, target, options.userns.path);
    return;
  }
  const { flags, data } = readOnlyOptions(first);
  if (options.context !== undefined) data.push(contextOption(options.context));
  await withIdmappedLayers(data, options.userns, (mapped) =>
    withinOnePage(mapped, (text) => mount(first.source, target, first.type, flags, text)),
  );
}

/** An overlay cannot be mounted with its ids mapped, its layers can; it keeps them, so the mount points go at once. */
async function withIdmappedLayers(
  data: readonly string[],
  userns: ReadOnlyMountOptions['userns'],
  use: (data: readonly string[]) => Promise<void>,
): Promise<void> {
  if (userns === undefined) return use(data);
  const mountPoints: string[] = [];
  try {
    const mapped: string[] = [];
    for (const option of data) {
      if (!option.startsWith(LOWER_DIR)) {
        mapped.push(option);
        continue;
      }
      for (const layer of option.slice(LOWER_DIR.length).split(':')) {
        const mountPoint = await mkdtemp(join(userns.scratch, 'layer-'));
        mountPoints.push(mountPoint);
        await bindIdmapped(layer, mountPoint, userns.path);
      }
      mapped.push(LOWER_DIR + mountPoints.join(':'));
    }
    await use(mapped);
  } finally {
    for (const mountPoint of mountPoints) await removeMountPoint(mountPoint);
  }
}

function readOnlyOptions({ options }: Mount): { flags: number; data: string[] } {
  let flags: number = MountFlag.readonly;
  const data: string[] = [];
  for (const option of options) {
    const flag = FLAGS.get(option);
    if (flag !== undefined) flags |= flag;
    else if (!/^(?:upperdir|workdir|uidmap|gidmap)=/.test(option)) data.push(option);
  }
  return { flags, data };
}

/** An image of more than about fifty layers has longer paths than fit: its layers go by descriptors then. */
async function withinOnePage(data: readonly string[], use: (text: string) => void): Promise<void> {
  const text = data.join(',');
  if (Buffer.byteLength(text) <= MAX_OPTIONS) {
    use(text);
    return;
  }
  const layers: FileHandle[] = [];
  try {
    const short: string[] = [];
    for (const option of data) {
      if (!option.startsWith(LOWER_DIR)) {
        short.push(option);
        continue;
      }
      for (const path of option.slice(LOWER_DIR.length).split(':')) layers.push(await open(path, O_PATH | constants.O_DIRECTORY));
      short.push(LOWER_DIR + layers.map(({ fd }) => `/proc/self/fd/${fd}`).join(':'));
    }
    use(short.join(','));
  } finally {
    for (const layer of layers) await layer.close();
  }
}
