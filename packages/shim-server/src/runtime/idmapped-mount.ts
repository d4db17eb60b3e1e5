import { open } from 'node:fs/promises';
import { getSystemErrorName } from 'node:util';
import koffi from 'koffi';
import { MountError } from './mount.js';

const libc = koffi.load(null);
const openTree = libc.func('syscall', 'long', ['long', 'int', 'str', 'uint']);
const mountSetattr = libc.func('syscall', 'long', ['long', 'int', 'str', 'uint', 'void *', 'size_t']);
const moveMount = libc.func('syscall', 'long', ['long', 'int', 'str', 'int', 'str', 'uint']);
const close = libc.func('int close(int fd)');

/** Numbers of system calls, the same on every architecture (asm-generic/unistd.h). */
const Syscall = { openTree: 428, moveMount: 429, mountSetattr: 442 } as const;

const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
const OPEN_TREE_CLONE = 1;
const OPEN_TREE_CLOEXEC = 0o2000000;
const MOVE_MOUNT_F_EMPTY_PATH = 4;
const MOUNT_ATTR_RDONLY = 1n;
const MOUNT_ATTR_IDMAP = 0x0010_0000n;

/**
 * Mounts a directory at another one, read-only, with its owners as the processes of a user namespace see them: what belongs to user 0
 * belongs to that namespace's user 0.
 *
 * @param userns path of the namespace, for example `/proc/42/ns/user`
 * @throws MountError, EINVAL among others for a file system that cannot be mounted so
 */
export async function bindIdmapped(source: string, target: string, userns: string): Promise<void> {
  const namespace = await open(userns);
  try {
    const tree = checked(source, 'open_tree', openTree(Syscall.openTree, AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    try {
      const attributes = mountAttributes(MOUNT_ATTR_RDONLY | MOUNT_ATTR_IDMAP, namespace.fd);
      checked(source, 'mount_setattr', mountSetattr(Syscall.mountSetattr, tree, '', AT_EMPTY_PATH, attributes, attributes.length));
      checked(target, 'move_mount', moveMount(Syscall.moveMount, tree, '', AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
    } finally {
      close(tree);
    }
  } finally {
    await namespace.close();
  }
}

/** struct mount_attr: what to set, what to clear, propagation, user namespace, in the machine's byte order. */
function mountAttributes(set: bigint, userns: number): Buffer {
  return Buffer.from(BigUint64Array.of(set, 0n, 0n, BigInt(userns)).buffer);
}

function checked(path: string, operation: string, result: number): number {
  if (result < 0) throw new MountError(path, getSystemErrorName(-koffi.errno()), operation);
  return result;
}
