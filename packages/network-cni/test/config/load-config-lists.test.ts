import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { loadConfigLists, loadFirst } from '../../src/index.js';

const conflist = (name: string, more: Record<string, unknown> = {}): string =>
  JSON.stringify({ cniVersion: '1.0.0', name, plugins: [{ type: 'bridge' }], ...more });
const conf = (name: string): string => JSON.stringify({ cniVersion: '0.3.1', name, type: 'bridge' });

t.test('takes .conf, .conflist and .json in the byte order of their names', async (t) => {
  const dir = t.testdir({
    '30-c.json': conf('c'),
    '10-a.conflist': conflist('a'),
    '20-b.conf': conf('b'),
    'Z.conf': conf('capital'),
    'README.md': 'no configuration',
    '05.conflist.bak': 'no configuration',
    'folder.conf': {},
  });
  await symlink('10-a.conflist', join(dir, '40-link.conflist'));
  t.same((await loadConfigLists(dir)).map(({ name }) => name), ['a', 'b', 'c', 'a', 'capital']);
  t.same((await loadConfigLists(dir, 2)).map(({ name }) => name), ['a', 'b']);
  t.match(await loadFirst(dir), { name: 'a', file: join(dir, '10-a.conflist') });
});

t.test('the first file decides: a broken one is an error, though a later one is good', async (t) => {
  const dir = t.testdir({ '10.conflist': '{', '20.conflist': conflist('b') });
  await t.rejects(loadFirst(dir), { name: 'CniConfigError', file: join(dir, '10.conflist') });
  const other = t.testdir({ '10.conflist': conflist('a'), '20.conflist': '{' });
  t.equal((await loadFirst(other)).name, 'a', 'what is not wanted is not read');
});

t.test('N4: no configuration says where it was looked for', async (t) => {
  const dir = t.testdir({ empty: {}, file: '' });
  for (const path of [join(dir, 'empty'), join(dir, 'absent')]) {
    await t.rejects(loadFirst(path), { file: path, message: /no network configuration/ });
  }
  await t.rejects(loadFirst(join(dir, 'file')), { message: /ENOTDIR/ });
});

t.test('plugins of the folder named after the network are added in order', async (t) => {
  const dir = t.testdir({
    '10.conflist': conflist('net'),
    '20.conflist': JSON.stringify({ name: 'only-files' }),
    '30.conflist': conflist('inline', { loadOnlyInlinedPlugins: true }),
    net: { '2.conf': '{"type":"tuning"}', '1.conf': '{"type":"portmap"}', 'x.json': '{"type":"no"}' },
    'only-files': { '1.conf': '{"type":"loopback"}' },
    inline: { '1.conf': 'not read' },
  });
  const lists = await loadConfigLists(dir);
  t.same(
    lists.map(({ plugins }) => plugins.map(({ type }) => type)),
    [['bridge', 'portmap', 'tuning'], ['loopback'], ['bridge']],
  );
});

t.test('a file that is too long or cannot be read is said', async (t) => {
  const dir = t.testdir({ big: {}, dangling: {} });
  await writeFile(join(dir, 'big', '1.conflist'), ' '.repeat(2 * 1024 * 1024 + 1));
  await t.rejects(loadFirst(join(dir, 'big')), { message: /2097153 bytes long/ });
  await symlink('/nowhere', join(dir, 'dangling', '1.conflist'));
  await t.rejects(loadFirst(join(dir, 'dangling')), { message: /cannot read the file: ENOENT/ });
});
