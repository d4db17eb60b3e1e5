import { getSystemErrorName } from 'node:util';
import koffi from 'koffi';

/** The system calls on namespaces and mounts that Node does not offer. All act on the calling thread and block it. */
export interface Syscalls {
  /** unshare(CLONE_NEWNET) */
  unshareNet(): void;
  /** setns(fd, CLONE_NEWNET) */
  enterNet(fd: number): void;
  /** mount(source, target, MS_BIND) */
  bindMount(source: string, target: string): void;
  /** umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW) */
  detach(target: string): void;
  /** Sets IFF_UP on `lo` of the thread's network namespace (SIOCSIFFLAGS). */
  bringLoopbackUp(): void;
}

/** A system call that failed; `code` is the errno's name. */
export class SyscallError extends Error {
  override readonly name = 'SyscallError';

  constructor(
    readonly syscall: string,
    readonly code: string,
  ) {
    super(`${syscall}: ${code}`);
  }
}

const CLONE_NEWNET = 0x4000_0000;
const MS_BIND = 0x1000;
const MNT_DETACH = 2;
const UMOUNT_NOFOLLOW = 8;
const AF_INET = 2;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2_000_000;
const SIOCGIFFLAGS = 0x8913;
const SIOCSIFFLAGS = 0x8914;
const IFF_UP = 1;
/** struct ifreq: a name of 16 bytes, then a union that begins with the flags (short); 40 bytes on 64-bit machines. */
const IFREQ_SIZE = 40;
const IFREQ_FLAGS = 16;

/** Binds them from the C library that Node itself runs on, glibc or musl. */
export function loadSyscalls(): Syscalls {
  const libc = koffi.load(null);
  const unshare = libc.func('int unshare(int flags)') as (flags: number) => number;
  const setns = libc.func('int setns(int fd, int nstype)') as (fd: number, nstype: number) => number;
  const mount = libc.func('int mount(str source, str target, str type, unsigned long flags, void *data)') as (
    source: string,
    target: string,
    type: string,
    flags: number,
    data: null,
  ) => number;
  const umount2 = libc.func('int umount2(str target, int flags)') as (target: string, flags: number) => number;
  const socket = libc.func('int socket(int domain, int type, int protocol)') as (domain: number, type: number, protocol: number) => number;
  // not fs.closeSync: Node warns when it closes what it did not open
  const close = libc.func('int close(int fd)') as (fd: number) => number;
  const ioctl = libc.func('int ioctl(int fd, unsigned long request, void *argument)') as (
    fd: number,
    request: number,
    argument: Buffer,
  ) => number;

  return {
    unshareNet: () => void checked('unshare', unshare(CLONE_NEWNET)),
    enterNet: (fd) => void checked('setns', setns(fd, CLONE_NEWNET)),
    bindMount: (source, target) => void checked('mount', mount(source, target, 'none', MS_BIND, null)),
    detach: (target) => void checked('umount2', umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW)),
    bringLoopbackUp: () => {
      const fd = checked('socket', socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      try {
        const request = Buffer.alloc(IFREQ_SIZE);
        request.write('lo');
        checked('ioctl SIOCGIFFLAGS', ioctl(fd, SIOCGIFFLAGS, request));
        writeNativeInt16(request, IFREQ_FLAGS, IFF_UP);
        checked('ioctl SIOCSIFFLAGS', ioctl(fd, SIOCSIFFLAGS, request));
      } finally {
        close(fd);
      }
    },
  };
}

/** Sets bits of a short in the machine's byte order. */
function writeNativeInt16(buffer: Buffer, offset: number, bits: number): void {
  const view = new Uint16Array(buffer.buffer, buffer.byteOffset + offset, 1);
  view[0] = (view[0] ?? 0) | bits;
}

function checked(syscall: string, result: number): number {
  if (result >= 0) return result;
  throw new SyscallError(syscall, getSystemErrorName(-koffi.errno()));
}
