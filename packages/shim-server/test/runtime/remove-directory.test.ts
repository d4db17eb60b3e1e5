import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { removeDirectory } from '../../src/runtime/remove-directory.js';

t.test('files, directories, links, and nothing at all', async (t) => {
  const dir = t.testdir({ flat: { a: 'a', b: 'b' }, deep: { a: 'a', below: { further: { b: 'b' } } }, empty: {} });
  for (const name of ['flat', 'deep', 'empty', 'none']) {
    await removeDirectory(join(dir, name));
    t.notOk(existsSync(join(dir, name)), name);
  }
});

t.test('a link goes, and what it leads to stays', async (t) => {
  const dir = t.testdir({ kept: { file: 'kept' } });
  symlinkSync(join(dir, 'kept'), join(dir, 'link'));
  mkdirSync(join(dir, 'own'));
  symlinkSync(join(dir, 'kept'), join(dir, 'own/link'));
  writeFileSync(join(dir, 'own/file'), '');
  for (const name of ['link', 'own']) {
    await removeDirectory(join(dir, name));
    t.notOk(existsSync(join(dir, name)), name);
  }
  t.equal(readFileSync(join(dir, 'kept/file'), 'utf8'), 'kept');
});

t.test('two at once', async (t) => {
  const dir = t.testdir({ flat: { a: 'a', b: 'b', c: 'c' } });
  await Promise.all([removeDirectory(join(dir, 'flat')), removeDirectory(join(dir, 'flat'))]);
  t.notOk(existsSync(join(dir, 'flat')));
});

t.test('what cannot be removed is told', async (t) => {
  await t.rejects(removeDirectory('/proc/self/fd'), { code: /EPERM|EACCES|ENOTEMPTY|ENOTSUP|EBUSY/ });
});
