import { lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Header } from 'tar';
import { test, type Test } from 'tap';
import { readDocuments, unpackArchive, unpackTree } from '../../src/checkpoint/archive-file.js';

interface Entry {
  readonly path: string;
  readonly content?: string;
  /** As in the tar format: `File` by default. */
  readonly type?: 'File' | 'SymbolicLink' | 'Link' | 'Directory' | 'CharacterDevice' | 'FIFO';
  readonly linkpath?: string;
}

/** An archive as nobody's tar would write it: names and links as they stand there. */
function archive(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ path, content = '', type = 'File', linkpath = '' }) => {
    const data = Buffer.from(content);
    const header = new Header({ path, mode: 0o777, size: data.length, type, linkpath, uid: 0, gid: 0, mtime: new Date(0), devmaj: 1, devmin: 3 });
    const block = Buffer.alloc(512);
    header.encode(block, 0);
    return [block, data, Buffer.alloc((512 - (data.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

async function unpacked(t: Test, entriesIn: (dir: string) => readonly Entry[]): Promise<{ dir: string; into: string; files: string[] }> {
  const dir = t.testdir({});
  const [file, into] = [join(dir, 'a.tar'), join(dir, 'deep/er/into')];
  await writeFile(file, archive(entriesIn(dir)));
  await mkdir(into, { recursive: true });
  await unpackArchive(file, into);
  const files = (await readdir(into, { recursive: true })).sort();
  return { dir, into, files };
}

test('checkpoint archives: nothing outside of the directory is written, whatever their names are', async (t) => {
  const { dir, into, files } = await unpacked(t, (root) => [
    { path: 'config.dump', content: 'good' },
    { path: '../escaped', content: 'x' },
    { path: '../../config.dump', content: 'x' },
    { path: 'checkpoint/../../escaped', content: 'x' },
    { path: `${root}/absolute`, content: 'x' },
    { path: '/config.dump', content: 'x' },
    { path: 'checkpoint/', type: 'Directory' },
    { path: 'checkpoint/inventory.img', content: 'image' },
    { path: 'unknown', content: 'x' },
  ]);
  t.same(files, ['checkpoint', 'checkpoint/inventory.img', 'config.dump']);
  t.equal(await readFile(join(into, 'checkpoint/inventory.img'), 'utf8'), 'image');
  t.same((await readdir(dir, { recursive: true })).sort().filter((name) => !name.startsWith('deep/er/into')), ['a.tar', 'deep', 'deep/er']);
});

test('CVE-2026-53489 checkpoint archives: a link is not unpacked, so that neither the log nor a list is a file of the node', async (t) => {
  const { into, files } = await unpacked(t, () => [
    { path: 'container.log', type: 'SymbolicLink', linkpath: '/etc/passwd' },
    { path: 'deleted.files', type: 'SymbolicLink', linkpath: '../../../etc/shadow' },
    { path: 'rootfs-diff.tar', type: 'Link', linkpath: '/etc/passwd' },
    { path: 'checkpoint', type: 'SymbolicLink', linkpath: '/' },
    { path: 'checkpoint/tmp/x', content: 'x' },
    { path: 'devshm-checkpoint.tar', type: 'CharacterDevice' },
    { path: 'spec.dump', type: 'FIFO' },
    { path: 'config.dump', content: 'good' },
  ]);
  t.same(files.filter((name) => !name.startsWith('checkpoint')), ['config.dump']);
  for (const name of files) {
    const entry = await lstat(join(into, name));
    t.ok(entry.isFile() || entry.isDirectory(), `${name} is a plain file or directory`);
  }
});

test('checkpoint archives: a document that is a link or too large is none', async (t) => {
  const file = join(t.testdir({}), 'a.tar');
  await writeFile(file, archive([{ path: 'config.dump', type: 'SymbolicLink', linkpath: '/etc/passwd' }, { path: 'spec.dump', content: '{}' }]));
  t.same([...(await readDocuments(file, ['config.dump', 'spec.dump']))], [['spec.dump', '{}']]);
  await writeFile(file, archive([{ path: 'spec.dump', content: 'x'.repeat(8 * 2 ** 20 + 1) }]));
  await t.rejects(readDocuments(file, ['spec.dump']), { message: /spec\.dump has \d+ bytes/ });
});

test('checkpoint archives: shared memory is not written through a link that lies there', async (t) => {
  const dir = t.testdir({ shm: {}, outside: {} });
  await symlink(join(dir, 'outside'), join(dir, 'shm', 'link'));
  const file = join(dir, 'shm.tar');
  await writeFile(file, archive([{ path: 'link/file', content: 'x' }]));
  await unpackTree(file, join(dir, 'shm')).catch(() => undefined);
  t.same(await readdir(join(dir, 'outside')), []);
});
