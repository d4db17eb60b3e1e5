import { readFile, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'tap';
import { DaemonLock } from '../../src/runtime/daemon-lock.js';
import { mount, MountError, MountFlag, unmount } from '../../src/runtime/mount.js';

const mounts = async (dir: string) => (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').filter((line) => line.split(' ')[4]?.startsWith(dir));

test('mount with flags and options; unmount takes all that lie over one another', async (t) => {
  const dir = t.testdir({ at: {} });
  const at = join(dir, 'at');
  mount('shm', at, 'tmpfs', MountFlag.nosuid | MountFlag.nodev | MountFlag.noexec, 'mode=1777,size=65536');
  mount('shm', at, 'tmpfs', 0, '');
  const found = await mounts(dir);
  t.equal(found.length, 2);
  t.match(found[0], /nosuid,nodev,noexec.*size=64k/);
  await unmount(at);
  t.same(await mounts(dir), []);
  await unmount(at);
  await unmount(join(dir, 'absent'));
});

test('a refused mount says where and why', (t) => {
  const dir = t.testdir({});
  t.throws(() => mount('x', join(dir, 'absent'), 'tmpfs', 0, ''), { name: 'MountError', code: 'ENOENT', target: join(dir, 'absent') });
  t.throws(() => mount('x', dir, 'nosuchfs', 0, ''), { code: 'ENODEV', message: `mount ${dir}: ENODEV` });
  t.ok(new MountError('/x', 'EIO', 'umount') instanceof Error);
  t.end();
});

test('unmount follows no link', async (t) => {
  const dir = t.testdir({ real: {} });
  const real = join(dir, 'real');
  mount('x', real, 'tmpfs', 0, '');
  try {
    await symlink(real, join(dir, 'link'));
    await unmount(join(dir, 'link'));
    t.equal((await mounts(dir)).length, 1);
  } finally {
    await unmount(real);
  }
});

test('one daemon a lock', async (t) => {
  const dir = join(t.testdir({}), 'made', 'state');
  const lock = await DaemonLock.take(join(dir, 'lock'), 'taken by another');
  t.equal((await stat(dir)).mode & 0o777, 0o711);
  await t.rejects(DaemonLock.take(join(dir, 'lock'), 'taken by another'), { message: 'taken by another' });
  const other = await DaemonLock.take(join(dir, 'other'), 'taken by another');
  await other.release();
  await lock.release();
  await (await DaemonLock.take(join(dir, 'lock'), 'taken by another')).release();
});
