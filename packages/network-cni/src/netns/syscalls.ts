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
  /** A TCP socket that does not block. */
  streamSocket(family: IpFamily): number;
  /** Begins to connect with a port on 127.0.0.1 or ::1. */
  connectLoopback(fd: number, family: IpFamily, port: number): void;
  /** Whether a connection that was begun is there; throws when it failed. */
  isConnected(fd: number): boolean;
  /** dup3(2), closed on exec. */
  duplicate(fd: number): number;
  close(fd: number): void;
}

export type IpFamily = 'ipv4' | 'ipv6';

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
const AF_INET6 = 10;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4_000;
const SOL_SOCKET = 1;
const SO_ERROR = 4;
/** Node's table of names lacks it. */
const EINPROGRESS = 115;
const POLLOUT = 4;
const F_DUPFD_CLOEXEC = 1030;
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

  const connect = libc.func('int connect(int fd, void *address, uint32_t length)') as (fd: number, address: Buffer, length: number) => number;
  const poll = libc.func('int poll(void *fds, unsigned long count, int timeout)') as (fds: Buffer, count: number, timeout: number) => number;
  const fcntl = libc.func('int fcntl(int fd, int command, int argument)') as (fd: number, command: number, argument: number) => number;
  const getsockopt = libc.func('int getsockopt(int fd, int level, int name, void *value, void *length)') as (
    fd: number,
    level: number,
    name: number,
    value: Buffer,
    length: Buffer,
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
    streamSocket: (family) =>
      checked('socket', socket(family === 'ipv4' ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
    connectLoopback: (fd, family, port) => {
      const address = loopbackAddress(family, port);
      if (connect(fd, address, address.length) === 0) return;
      const errno = koffi.errno();
      if (errno !== EINPROGRESS) throw new SyscallError('connect', getSystemErrorName(-errno));
    },
    isConnected: (fd) => {
      const pollFd = nativeInts(fd, 0);
      new Uint16Array(pollFd.buffer, pollFd.byteOffset, 4)[2] = POLLOUT;
      if (checked('poll', poll(pollFd, 1, 0)) === 0) return false;
      const [value, length] = [nativeInts(0), nativeInts(4)];
      checked('getsockopt SO_ERROR', getsockopt(fd, SOL_SOCKET, SO_ERROR, value, length));
      const errno = new Int32Array(value.buffer, value.byteOffset, 1)[0] ?? 0;
      if (errno !== 0) throw new SyscallError('connect', getSystemErrorName(-errno));
      return true;
    },
    duplicate: (fd) => checked('fcntl F_DUPFD_CLOEXEC', fcntl(fd, F_DUPFD_CLOEXEC, 0)),
    close: (fd) => void close(fd),
  };
}

/** struct sockaddr_in or sockaddr_in6: the family in the machine's byte order, port and address in the network's. */
function loopbackAddress(family: IpFamily, port: number): Buffer {
  const address = Buffer.alloc(family === 'ipv4' ? 16 : 28);
  writeNativeInt16(address, 0, family === 'ipv4' ? AF_INET : AF_INET6);
  address.writeUInt16BE(port, 2);
  if (family === 'ipv4') address.set([127, 0, 0, 1], 4);
  else address[23] = 1;
  return address;
}

/** Ints in the machine's byte order. */
function nativeInts(...values: number[]): Buffer {
  return Buffer.from(Int32Array.from(values).buffer);
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
