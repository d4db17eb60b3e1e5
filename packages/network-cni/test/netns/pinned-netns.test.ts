import { closeSync, existsSync, openSync, readFileSync, readlinkSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createPinned, releasePinned } from '../../src/netns/pinned-netns.js';
import { StepError } from '../../src/netns/step-error.js';
import { mountPoints, pinDirectory } from '../fixtures/pin-directory.js';
import { loadSyscalls, SyscallError, type Syscalls } from '../../src/netns/syscalls.js';

// What the worker runs, on the main thread: fine as long as it returns to its namespace, which these tests see to.
const system = loadSyscalls();
const home = openSync('/proc/thread-self/ns/net', 'r');
const ours = readlinkSync('/proc/thread-self/ns/net');
t.teardown(() => closeSync(home));
const isHome = (): boolean => readlinkSync('/proc/thread-self/ns/net') === ours;

const NSFS_MAGIC = 0x6e736673;
const isPinned = (path: string): boolean => existsSync(path) && statfsSync(path).type === NSFS_MAGIC;
const mountsAt = (path: string): number => mountPoints().filter((point) => point === path).length;

/** Reads a file inside a pinned namespace. */
function readInside(path: string, file: string): string {
  const fd = openSync(path, 'r');
  try {
    system.enterNet(fd);
    return readFileSync(file, 'utf8');
  } finally {
    system.enterNet(home);
    closeSync(fd);
  }
}

function failureOf(work: () => void): StepError {
  try {
    work();
  } catch (error) {
    if (error instanceof StepError) return error;
    throw error;
  }
  throw new Error('expected a StepError');
}

t.test('pins a namespace with lo up and its sysctls set', async (t) => {
  const path = join(pinDirectory(t), 'netns', 'pod');
  createPinned(system, home, path, { 'net.ipv4.ip_unprivileged_port_start': '0', 'net/ipv4/ping_group_range': '0 2147483647' });
  t.ok(isPinned(path));
  t.equal(mountsAt(path), 1);
  t.equal(readInside(path, '/proc/sys/net/ipv4/ip_unprivileged_port_start').trim(), '0');
  t.equal(readInside(path, '/proc/sys/net/ipv4/ping_group_range').trim().split(/\s+/).join(' '), '0 2147483647');
  t.not(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8').trim(), '0', 'ours is as it was');
  t.match(readInside(path, '/proc/thread-self/net/route'), /^Iface/);
  // the kernel gives ::1 to an lo that is up, and only then
  t.match(readInside(path, '/proc/thread-self/net/if_inet6'), /0{31}1 .* lo\n/);
  t.ok(isHome());
  releasePinned(system, path);
});

t.test('release removes a pin, a plain file, a pile of pins, and nothing', async (t) => {
  const dir = pinDirectory(t);
  writeFileSync(join(dir, 'plain'), 'x');
  const path = join(dir, 'pod');
  createPinned(system, home, path, {});
  system.bindMount('/proc/thread-self/ns/net', path);
  t.equal(mountsAt(path), 2);
  releasePinned(system, path);
  t.equal(mountsAt(path), 0);
  t.notOk(existsSync(path));
  releasePinned(system, path);
  releasePinned(system, join(dir, 'absent', 'deeper'));
  releasePinned(system, join(dir, 'plain', 'below-a-file'));
  releasePinned(system, join(dir, 'plain'));
  t.notOk(existsSync(join(dir, 'plain')));
  t.match(failureOf(() => releasePinned(system, dir)), { step: 'remove the pin', code: /EISDIR|EPERM/ });
});

t.test('an existing path is not touched', async (t) => {
  const dir = t.testdir({ taken: 'content', file: '' });
  t.match(failureOf(() => createPinned(system, home, join(dir, 'taken'), {})), { step: 'create the pin', code: 'EEXIST' });
  t.equal(readFileSync(join(dir, 'taken'), 'utf8'), 'content');
  t.match(failureOf(() => createPinned(system, home, join(dir, 'file', 'pod'), {})), { step: 'make the directory' });
});

t.test('a sysctl that cannot be set names itself and leaves nothing', async (t) => {
  const path = join(pinDirectory(t), 'pod');
  for (const [name, code] of [['net.ipv4.no_such_thing', 'ENOENT'], ['net.ipv4.ip_local_port_range', 'EINVAL'], ['kernel.shmmax', '']] as const) {
    t.match(failureOf(() => createPinned(system, home, path, { [name]: 'rubbish' })), { step: `sysctl ${name}`, code }, name);
    t.notOk(existsSync(path));
  }
});

t.test('a failure at any step leaves nothing', async (t) => {
  const steps: Array<[keyof Syscalls, string]> = [['unshareNet', 'unshare'], ['bringLoopbackUp', 'bring lo up'], ['bindMount', 'pin']];
  for (const [call, step] of steps) {
    const path = join(pinDirectory(t), 'pod');
    const failing: Syscalls = { ...system, [call]: () => { throw new SyscallError(call, 'EPERM'); } };
    const error = failureOf(() => createPinned(failing, home, path, {}));
    t.match(error, { step, code: 'EPERM', threadLost: false, reason: `${call}: EPERM` });
    t.notOk(existsSync(path));
    t.equal(mountsAt(path), 0);
    t.ok(isHome(), 'the thread is back in its namespace');
  }
});

t.test('a thread that cannot return says so, and the pin is gone', async (t) => {
  const path = join(pinDirectory(t), 'pod');
  const error = failureOf(() => createPinned(system, 1_000_000, path, {}));
  system.enterNet(home);
  t.match(error, { step: 'return to the own namespace', code: 'EBADF', threadLost: true });
  t.notOk(existsSync(path));
});

t.test('the first failure is reported when the undo fails too', async (t) => {
  const path = join(pinDirectory(t), 'pod');
  const failing: Syscalls = {
    ...system,
    unshareNet: () => { throw new SyscallError('unshare', 'ENOSPC'); },
    detach: () => { throw new SyscallError('umount2', 'EPERM'); },
  };
  t.match(failureOf(() => createPinned(failing, home, path, {})), { step: 'unshare', code: 'ENOSPC' });
  t.match(failureOf(() => releasePinned(failing, path)), { step: 'unmount the pin', code: 'EPERM' });
  const odd: Syscalls = { ...system, unshareNet: () => { throw 'no error object'; } };
  t.match(failureOf(() => createPinned(odd, home, join(pinDirectory(t), 'other'), {})), { code: '', reason: 'no error object' });
});

t.test('system calls report the name of the errno', async (t) => {
  t.throws(() => system.detach('/no/such/path'), { name: 'SyscallError', syscall: 'umount2', code: 'ENOENT' });
  t.throws(() => system.bindMount('/no/such/path', '/tmp'), { name: 'SyscallError', syscall: 'mount', code: 'ENOENT' });
});
