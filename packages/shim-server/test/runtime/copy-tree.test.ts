import { execFileSync } from 'node:child_process';
import { chmod, chown, link, lstat, lutimes, mkdir, mkdtemp, open, readFile, readlink, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type Test } from 'tap';
import { copyTree } from '../../src/runtime/copy-tree.js';
import { mayRelabel, relabel } from '../../src/runtime/relabel.js';
import { kernelXattrs, XattrError, type Xattrs } from '../../src/runtime/xattrs.js';

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

test('extended attributes: none, absent, refused', async (t) => {
  const dir = await directory(t);
  const file = join(dir, 'file');
  await writeFile(file, '');
  t.same(await kernelXattrs.list(file), []);
  t.equal(await kernelXattrs.get(file, 'user.none'), undefined);
  await t.rejects(kernelXattrs.list(join(dir, 'none')), { name: 'XattrError', code: 'ENOENT' });
  await t.rejects(kernelXattrs.set('/proc/self', 'user.x', Buffer.from('x')), { name: 'XattrError', message: /lsetxattr user\.x \/proc\/self: E/ });
  await symlink('none', join(dir, 'link'));
  await kernelXattrs.set(join(dir, 'link'), 'trusted.x', Buffer.from('x'));
  t.same(await kernelXattrs.list(join(dir, 'link')), ['trusted.x'], 'a link has its own');
});

/** SELinux labels under a name that this kernel takes. */
const labels = (onSet: (path: string) => Promise<void> = async () => undefined): Xattrs => {
  const name = (asked: string) => asked.replace('security.selinux', 'trusted.label');
  return {
    list: (path) => kernelXattrs.list(path),
    get: async (path, asked) => kernelXattrs.get(path, name(asked)),
    set: async (path, asked, value) => {
      await onSet(path);
      await kernelXattrs.set(path, name(asked), value);
    },
  };
};
const labelOf = async (path: string) => (await kernelXattrs.get(path, 'trusted.label'))?.toString();

test('relabel: everything below, links themselves, and nothing twice', async (t) => {
  const dir = await directory(t);
  const volume = join(dir, 'volume');
  await mkdir(join(volume, 'sub/deep'), { recursive: true });
  await writeFile(join(volume, 'sub/file'), '');
  await writeFile(join(dir, 'outside'), '');
  await symlink(join(dir, 'outside'), join(volume, 'link'));
  execFileSync('mkfifo', [join(volume, 'fifo')]);
  let written = 0;
  const counting = labels(async () => void written++);
  await relabel(volume, 'a:b:c:s0', counting);
  for (const path of ['', 'sub', 'sub/deep', 'sub/file', 'link', 'fifo']) t.equal(await labelOf(join(volume, path)), 'a:b:c:s0', path);
  t.equal(await labelOf(join(dir, 'outside')), undefined);
  t.equal(written, 6);
  await relabel(volume, 'a:b:c:s0', counting);
  t.equal(written, 6, 'what has the label is left alone');
  await relabel(join(volume, 'sub/file'), 'x', counting);
  t.equal(await labelOf(join(volume, 'sub/file')), 'x', 'a file alone');
});

test('relabel: what vanishes is passed over, other failures are told', async (t) => {
  const dir = await directory(t);
  await writeFile(join(dir, 'a'), '');
  await relabel(dir, 'l', labels(async (path) => path.endsWith('/a') ? rm(path) : undefined));
  t.equal(await labelOf(dir), 'l');
  const failing = (code: string) => relabel(dir, 'm', labels((path) => Promise.reject(new XattrError(path, code, 'lsetxattr'))));
  await t.rejects(failing('EPERM'), { code: 'EPERM' });
  await failing('ENOTSUP');
  await t.rejects(relabel(join(dir, 'none'), 'l', labels()), { code: 'ENOENT' });
  t.notOk(mayRelabel('/etc') || mayRelabel('/'));
  t.ok(mayRelabel('/etc/my-app'));
});
