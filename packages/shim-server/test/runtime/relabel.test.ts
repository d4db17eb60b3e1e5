import { execFileSync } from 'node:child_process';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'tap';
import { mayRelabel, relabel } from '../../src/runtime/relabel.js';
import { kernelXattrs, XattrError, type Xattrs } from '../../src/runtime/xattrs.js';

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
  const dir = t.testdir({});
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
  const dir = t.testdir({});
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
