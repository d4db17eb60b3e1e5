import { execFileSync } from 'node:child_process';
import { chmod, chown, link, lstat, lutimes, mkdir, mkdtemp, open, readFile, readlink, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type Test } from 'tap';
import { copyTree } from '../../src/runtime/copy-tree.js';
import { kernelXattrs } from '../../src/runtime/xattrs.js';

const CAPABILITY = 'security.capability';
/** cap_net_bind_service+ep, revision 2 (linux/capability.h), little-endian. */
const NET_BIND = Buffer.from('0100000200040000000000000000000000000000', 'hex');

async function directory(t: Test): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'copy-')));
  t.teardown(() => rm(dir, { recursive: true }));
  return dir;
}

test('a copy has everything of what it is a copy of', async (t) => {
  const dir = await directory(t);
  const [source, target] = [join(dir, 'source'), join(dir, 'target')];
  const [from, to] = [(name: string) => join(source, name), (name: string) => join(target, name)];
  await mkdir(from('sub'), { recursive: true });
  await mkdir(target);
  await writeFile(from('sub/file'), 'text');
  await kernelXattrs.set(from('sub/file'), 'user.note', Buffer.from('noted'));
  await writeFile(from('program'), '#!');
  await link(from('program'), from('same-program'));
  await chown(from('program'), 12, 34);
  await chmod(from('program'), 0o6750);
  await kernelXattrs.set(from('program'), CAPABILITY, NET_BIND);
  await kernelXattrs.set(from('program'), 'trusted.overlay.origin', Buffer.from('x'));
  await symlink('/etc/passwd', from('absolute'));
  await symlink('../../../..', from('climbing'));
  await lutimes(from('absolute'), 1, 2);
  execFileSync('mkfifo', ['-m', '0622', from('fifo')]);
  execFileSync('mknod', [from('null'), 'c', '1', '3']);
  execFileSync('mknod', [from('removed'), 'c', '0', '0']);
  const server = createServer().listen(from('socket'));
  t.teardown(() => server.close());
  await chown(source, 56, 78);
  await chmod(source, 0o1777);
  await lutimes(source, 1_000_000_000, 1_000_000_001.5);

  const handle = await open(source, 0o10000000);
  try {
    await copyTree(`/proc/self/fd/${handle.fd}`, target, kernelXattrs);
  } finally {
    await handle.close();
  }

  t.equal(await readFile(to('sub/file'), 'utf8'), 'text');
  t.equal((await kernelXattrs.get(to('sub/file'), 'user.note'))?.toString(), 'noted');
  const program = await stat(to('program'));
  t.match(program, { uid: 12, gid: 34, nlink: 2, ino: (await stat(to('same-program'))).ino });
  t.equal(program.mode & 0o7777, 0o6750);
  t.same(await kernelXattrs.get(to('program'), CAPABILITY), NET_BIND);
  t.same(await kernelXattrs.list(to('program')), [CAPABILITY], 'what overlayfs keeps for itself stays behind');
  t.equal(await readlink(to('absolute')), '/etc/passwd');
  t.match(await lstat(to('absolute')), { mtimeMs: 2000 });
  t.equal(await readlink(to('climbing')), '../../../..');
  const fifo = await lstat(to('fifo'));
  t.ok(fifo.isFIFO());
  t.equal(fifo.mode & 0o7777, 0o622);
  const device = await lstat(to('null'));
  t.ok(device.isCharacterDevice());
  t.equal(device.rdev, (await stat('/dev/null')).rdev);
  for (const absent of ['removed', 'socket']) await t.rejects(lstat(to(absent)), { code: 'ENOENT' });
  const top = await stat(target);
  t.match(top, { uid: 56, gid: 78, mtimeMs: 1_000_000_001_500 });
  t.equal(top.mode & 0o7777, 0o1777);
});
