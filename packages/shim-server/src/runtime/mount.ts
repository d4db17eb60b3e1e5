import koffi from 'koffi';
import { Slots } from '../state/slots.js';

const libc = koffi.load(null);
const mountCall = libc.func('int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)');
const umountCall = libc.func('int umount2(const char *target, int flags)');

/** `<sys/mount.h>` */
export const MountFlag = { readonly: 1, nosuid: 2, nodev: 4, noexec: 8, remount: 32, noatime: 1024, bind: 4096, recursive: 16384 } as const;

const MNT_DETACH = 2;
const UMOUNT_NOFOLLOW = 8;

/** They wait for each other in the kernel, and are not to hold the threads that everything else needs. */
const unmounting = new Slots(2);

/** A mount(2) or umount2(2) that the kernel refused. */
export class MountError extends Error {
  override readonly name = 'MountError';

  constructor(
    readonly target: string,
    /** errno name, for example `EBUSY`. */
    readonly code: string,
    operation: string,
  ) {
    super(`${operation} ${target}: ${code}`);
  }
}

/**
 * Mounts a file system that lives in memory or in this machine's files. These calls take microseconds and cannot wait for a
 * device or a network, so they run on the main thread (a spawned mount takes milliseconds and blocks the event loop longer).
 *
 * @throws MountError
 */
export function mount(source: string, target: string, type: string, flags: number, data: string): void {
  if (mountCall(source, target, type, flags, data) !== 0) throw new MountError(target, errnoName(), 'mount');
}

/** Mounts what is below `source` at `target` too, which is a directory, and makes it read-only. @throws MountError */
export function bindReadOnly(source: string, target: string): void {
  mount(source, target, '', MountFlag.bind | MountFlag.recursive, '');
  // A bind mount takes its flags only when it is mounted again.
  mount('', target, '', MountFlag.remount | MountFlag.bind | MountFlag.readonly, '');
}

/**
 * Detaches whatever is mounted at `target`; nothing mounted there, or nothing there, is fine. The kernel waits for a grace period of RCU in it, about
 * 10 ms on a busy node, so another thread does it.
 *
 * @throws MountError
 */
export function unmount(target: string): Promise<void> {
  return unmounting.run(undefined, async () => {
    // one may lie over another
    while (await detach(target));
  });
}

/** @returns false when nothing is mounted there */
function detach(target: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    umountCall.async(target, MNT_DETACH | UMOUNT_NOFOLLOW, (failure: Error | null, result: number) => {
      if (failure !== null) return reject(failure);
      if (result === 0) return resolve(true);
      const code = errnoName();
      if (code === 'EINVAL' || code === 'ENOENT') resolve(false);
      else reject(new MountError(target, code, 'umount'));
    });
  });
}

function errnoName(): string {
  const errno = koffi.errno();
  const codes = koffi.os.errno as Record<string, number>;
  return Object.keys(codes).find((name) => codes[name] === errno) ?? `errno ${errno}`;
}
