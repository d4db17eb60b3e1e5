import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'tap';
import { kernelXattrs } from '../../src/runtime/xattrs.js';

test('extended attributes: none, absent, refused', async (t) => {
  const dir = t.testdir({});
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
