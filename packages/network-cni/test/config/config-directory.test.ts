import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ConfigDirectory, type ConfigState } from '../../src/index.js';
import { fingerprint } from '../../src/config/directory-fingerprint.js';

const conflist = (name: string): string => JSON.stringify({ cniVersion: '1.0.0', name, plugins: [{ type: 'bridge' }] });
const nameOf = (state: ConfigState): string => state.list?.name ?? 'error';

/** Waits at most the second that the case allows. */
async function follows(directory: ConfigDirectory, expected: string): Promise<boolean> {
  for (const end = performance.now() + 1500; performance.now() < end; await delay(20)) {
    if (nameOf(directory.current()) === expected) return true;
  }
  return false;
}

async function scratch(t: Pick<Test, 'teardown'>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'cni-conf-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

t.test('N3: absent at start, made, removed, recreated', async (t) => {
  const dir = join(await scratch(t), 'a', 'net.d');
  const directory = new ConfigDirectory({ dir });
  t.match(directory.current().error?.message, /not loaded yet/);
  await directory.start();
  t.teardown(() => directory.close());
  t.match(directory.current().error?.message, /no network configuration/);
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, '10.conflist'), conflist('one'));
  t.ok(await follows(directory, 'one'));
  await rm(join(dir, '..'), { recursive: true });
  t.ok(await follows(directory, 'error'));
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, '10.conflist'), conflist('two'));
  t.ok(await follows(directory, 'two'));
});

t.test('N3: atomic rename, bad then good JSON, a file before the first', async (t) => {
  const dir = await scratch(t);
  const put = async (name: string, text: string): Promise<void> => {
    await writeFile(join(dir, '.new'), text);
    await rename(join(dir, '.new'), join(dir, name));
  };
  await put('10.conflist', conflist('one'));
  const directory = new ConfigDirectory({ dir });
  const changes: string[] = [];
  directory.on('change', (state) => changes.push(nameOf(state)));
  await directory.start();
  t.teardown(() => directory.close());
  t.equal(nameOf(directory.current()), 'one');
  await put('10.conflist', '{"name":');
  t.ok(await follows(directory, 'error'));
  t.match(directory.current().error, { file: join(dir, '10.conflist') });
  await put('10.conflist', conflist('two'));
  t.ok(await follows(directory, 'two'));
  await put('05.conflist', conflist('six'));
  t.ok(await follows(directory, 'six'));
  // same size, same name, written in place
  await writeFile(join(dir, '05.conflist'), conflist('sex'));
  t.ok(await follows(directory, 'sex'));
  t.same(changes, ['one', 'error', 'two', 'six', 'sex'], 'one event for each change');
});

t.test('N3: the directory is a link, and is pointed elsewhere', async (t) => {
  const base = await scratch(t);
  for (const name of ['one', 'two']) {
    await mkdir(join(base, name));
    await writeFile(join(base, name, '1.conflist'), conflist(name));
  }
  await symlink('one', join(base, 'net.d'));
  const directory = new ConfigDirectory({ dir: join(base, 'net.d') });
  await directory.start();
  t.teardown(() => directory.close());
  t.equal(nameOf(directory.current()), 'one');
  await unlink(join(base, 'net.d'));
  await symlink('two', join(base, 'net.d'));
  t.ok(await follows(directory, 'two'));
});

t.test('a plugin file in the folder of the network counts', async (t) => {
  const dir = await scratch(t);
  await writeFile(join(dir, '1.conflist'), conflist('net'));
  const directory = new ConfigDirectory({ dir });
  await directory.start();
  t.teardown(() => directory.close());
  await mkdir(join(dir, 'net'));
  await writeFile(join(dir, 'net', '1.conf'), '{"type":"tuning"}');
  await directory.refresh();
  t.equal(directory.current().list?.plugins.length, 2);
});

t.test('loads several lists when asked to, one by default', async (t) => {
  const dir = await scratch(t);
  for (const name of ['a', 'b', 'c']) await writeFile(join(dir, `${name}.conflist`), conflist(name));
  const one = new ConfigDirectory({ dir });
  t.equal((await one.refresh()).lists?.length, 1);
  const all = new ConfigDirectory({ dir, maxLists: 0 });
  t.same((await all.refresh()).lists?.map(({ name }) => name), ['a', 'b', 'c']);
});

t.test('after close nothing is followed any more, and no timer is left', async (t) => {
  const dir = await scratch(t);
  await writeFile(join(dir, '1.conflist'), conflist('one'));
  const timers = (): number => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const directory = new ConfigDirectory({ dir, intervalMs: 20 });
  await directory.start();
  await directory.close();
  t.equal(timers(), before);
  await writeFile(join(dir, '1.conflist'), conflist('two!'));
  await delay(100);
  t.equal(nameOf(directory.current()), 'one');
});

t.test('concurrent refreshes share a look that began after them', async (t) => {
  const dir = await scratch(t);
  const directory = new ConfigDirectory({ dir });
  const first = directory.refresh();
  await writeFile(join(dir, '1.conflist'), conflist('one'));
  const states = await Promise.all([directory.refresh(), directory.refresh(), first]);
  t.equal(nameOf(states[0]), 'one');
  t.equal(nameOf(states[1]), 'one');
});

t.test('looks cost next to nothing', async (t) => {
  const dir = await scratch(t);
  await writeFile(join(dir, '1.conflist'), conflist('one'));
  const before = process.cpuUsage();
  for (let look = 0; look < 100; look += 1) await fingerprint(dir);
  const { user, system } = process.cpuUsage(before);
  t.ok((user + system) / 100 < 5_000, `${(user + system) / 100} us of CPU a look`);
});

t.test('a fingerprint tells unreadable files and dangling links, and passes over the rest', async (t) => {
  const dir = await scratch(t);
  await symlink('/nowhere', join(dir, 'x.conf'));
  await symlink('/nowhere', join(dir, 'x.txt'));
  await mkdir(join(dir, 'folder', 'deeper'), { recursive: true });
  await writeFile(join(dir, 'folder', 'x.json'), '');
  const { text, fresh } = await fingerprint(dir);
  t.equal(text, `${join(dir, 'x.conf')} ENOENT`);
  t.equal(fresh, false);
});
