import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'tap';
import { withContext } from '../../src/runtime/mount-context.js';
import { bindReadOnly, unmount } from '../../src/runtime/mount.js';
import { mountReadOnly } from '../../src/runtime/snapshot-mount.js';
import { removeMountPoints } from '../../src/runtime/mount-point.js';
import { readSnapshot } from '../../src/runtime/snapshot-reader.js';

const overlay = (...options: string[]) => [{ type: 'overlay', source: 'overlay', target: '', options }];

test('a layer alone and several layers are mounted so that nothing can be written', async (t) => {
  const dir = t.testdir({ one: { a: '1' }, two: { b: '2' }, upper: {}, work: {}, at: {} });
  const path = (name: string) => join(dir, name);
  const cases = {
    'a bind mount': [{ type: 'bind', source: path('one'), target: '', options: ['rbind', 'ro'] }],
    'a bind mount that could be written to': [{ type: 'bind', source: path('one'), target: '', options: ['rbind', 'rw'] }],
    'layers': overlay('index=off', `lowerdir=${path('two')}:${path('one')}`),
    'layers below a writable one': overlay(`upperdir=${path('upper')}`, `workdir=${path('work')}`, `lowerdir=${path('two')}:${path('one')}`),
  };
  for (const [what, mounts] of Object.entries(cases)) {
    await mountReadOnly(mounts, path('at'));
    try {
      t.equal(await readFile(join(path('at'), 'a'), 'utf8'), '1', what);
      await t.rejects(writeFile(join(path('at'), 'new'), ''), { code: 'EROFS' }, what);
    } finally {
      await unmount(path('at'));
    }
  }
});

test('an image of 120 layers: more than fits into the options of a mount', async (t) => {
  const dir = t.testdir({ at: {} });
  const layers: string[] = [];
  for (let index = 0; index < 120; index++) {
    const layer = join(dir, `a-directory-with-a-rather-long-name-${index}`);
    await mkdir(layer);
    await writeFile(join(layer, `file-${index}`), '');
    await writeFile(join(layer, 'same'), String(index));
    layers.push(layer);
  }
  const options = `lowerdir=${layers.join(':')}`;
  t.ok(options.length > 4096);
  await mountReadOnly(overlay('index=off', options), join(dir, 'at'));
  try {
    t.equal((await readdir(join(dir, 'at'))).length, 121);
    t.equal(await readFile(join(dir, 'at/same'), 'utf8'), '0', 'the first layer is the uppermost');
  } finally {
    await unmount(join(dir, 'at'));
  }
});

test('for a user namespace: owners are those of its users, in one layer and in several', async (t) => {
  const dir = t.testdir({ one: { a: '1' }, two: { b: '2' }, at: {}, scratch: {} });
  const path = (name: string) => join(dir, name);
  await chown(path('one'), 0, 0);
  await chown(path('one/a'), 5, 6);
  const child = spawn('unshare', ['--user', 'sleep', '60'], { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  const own = await readFile('/proc/self/uid_map', 'utf8');
  for (let tries = 0; (await readFile(`/proc/${child.pid}/uid_map`, 'utf8')) === own && tries < 500; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  await writeFile(`/proc/${child.pid}/uid_map`, '0 200000 65536');
  await writeFile(`/proc/${child.pid}/gid_map`, '0 300000 65536');
  const userns = { path: `/proc/${child.pid}/ns/user`, scratch: path('scratch') };
  const cases = {
    'one layer': [{ type: 'bind', source: path('one'), target: '', options: ['rbind', 'ro'] }],
    'several layers': overlay('index=off', `lowerdir=${path('two')}:${path('one')}`),
  };
  for (const [what, mounts] of Object.entries(cases)) {
    await mountReadOnly(mounts, path('at'), { userns });
    try {
      t.match(await stat(join(path('at'), 'a')), { uid: 200005, gid: 300006 }, what);
      await t.rejects(writeFile(join(path('at'), 'new'), ''), { code: /EROFS|EOVERFLOW/ }, what);
    } finally {
      await unmount(path('at'));
    }
    t.same(await readdir(path('scratch')), []);
  }
  t.match(await stat(path('one/a')), { uid: 5, gid: 6 });
});

test('a snapshot that only containerd can mount is refused', async (t) => {
  const dir = t.testdir({});
  const refused = { code: 9 };
  await t.rejects(mountReadOnly([], dir), refused);
  await t.rejects(mountReadOnly([{ type: 'format/overlay', source: 'x', target: '', options: [] }], dir), refused);
  await t.rejects(mountReadOnly([...overlay(), ...overlay()], dir), refused);
});

test('mounts that lie on one another are undone at once', async (t) => {
  const dir = t.testdir({ layer: { sub: { inner: '' } }, at: { 0: {} } });
  const at = join(dir, 'at/0');
  bindReadOnly(join(dir, 'layer'), at);
  bindReadOnly(join(dir, 'layer/sub'), at);
  t.same(await readdir(at), ['inner']);
  await removeMountPoints(join(dir, 'at'));
  t.same(await readdir(join(dir, 'at')), []);
});

test('a snapshot of one layer is read where it is, one of several is put together and taken apart again', async (t) => {
  const dir = t.testdir({ one: { a: '1' }, two: { b: '2' }, at: {} });
  const [one, two, at] = ['one', 'two', 'at'].map((name) => join(dir, name)) as [string, string, string];
  t.equal(await readSnapshot(overlay(`lowerdir=${one}`, `upperdir=${two}`), at, (root) => Promise.resolve(root)), one);
  t.same(await readSnapshot(overlay(`lowerdir=${one}:${two}`), at, async (root) => (await readdir(root)).sort()), ['a', 'b']);
  t.same(await readdir(at), []);
});

test('one SELinux label for a file system; a bind mount has those of what it shows', (t) => {
  const bind = { type: 'bind', source: '/x', target: '', options: ['rbind'] };
  const label = 'system_u:object_r:container_file_t:s0:c1,c2';
  t.same(withContext([...overlay('a'), bind], label), [...overlay('a', `context="${label}"`), bind]);
  t.same(withContext([bind], undefined), [bind]);
  t.end();
});
