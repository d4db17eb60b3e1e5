import koffi from 'koffi';

const syscall = koffi.load(null).func('long syscall(long number, int dfd, const char *path, uint flags, void *attr, size_t size)');

/** `__NR_mount_setattr`: the same number on every architecture. */
const MOUNT_SETATTR = 442;

/**
 * Whether the kernel has mount_setattr(2) (Linux 5.12), by which mounts become recursively read-only or idmapped. Asked with a structure of no
 * size, which a kernel that has the call refuses with EINVAL before it looks at anything else.
 */
export function hasMountSetattr(): boolean {
  return syscall(MOUNT_SETATTR, -1, null, 0, null, 0) !== 0 && koffi.errno() === koffi.os.errno.EINVAL;
}
