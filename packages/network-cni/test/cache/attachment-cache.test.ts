import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { CniResult } from '../../src/index.js';
import { AttachmentCache } from '../../src/cache/attachment-cache.js';
import { attachmentOf, listOf } from '../fixtures/lists.js';

const result: CniResult = {
  interfaces: [{ name: 'eth0', sandbox: '/run/netns/pod1' }],
  ips: [{ address: '10.0.0.2/24', interface: 0 }],
  routes: [],
  dns: { nameservers: [], search: [], options: [] },
};

t.test('files are those of libcni', async (t) => {
  const dir = join(t.testdir(), 'cni');
  const list = listOf('0.4.0', ['bridge']);
  const attachment = attachmentOf({ args: [['K', 'V']], capabilityArgs: { mac: 'aa' } });
  await new AttachmentCache(dir).write(list, attachment, result);
  const file = join(dir, 'results', 'net-pod1-eth0');
  t.equal((await stat(file)).mode & 0o777, 0o600);
  t.equal((await stat(join(dir, 'results'))).mode & 0o777, 0o700);
  const stored = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  // the keys of libcni's cachedInfo
  t.same(stored, {
    kind: 'cniCacheV1',
    containerId: 'pod1',
    config: Buffer.from(list.bytes).toString('base64'),
    ifName: 'eth0',
    networkName: 'net',
    netns: '/run/netns/pod1',
    cniArgs: [['K', 'V']],
    capabilityArgs: { mac: 'aa' },
    result: {
      cniVersion: '0.4.0',
      interfaces: [{ name: 'eth0', sandbox: '/run/netns/pod1' }],
      ips: [{ version: '4', address: '10.0.0.2/24', interface: 0 }],
    },
  });
  t.same(await readdir(dir), ['results'], 'no temporary file is left');
});

t.test('reads back what it wrote; the result is absent until there is one', async (t) => {
  const cache = new AttachmentCache(t.testdir());
  const list = listOf('1.1.0', ['bridge', 'portmap']);
  await cache.write(list, attachmentOf());
  const intent = await cache.read('pod1', 'net', 'eth0');
  t.notOk(intent && 'result' in intent);
  t.equal(intent?.list?.plugins.length, 2);
  await cache.write(list, attachmentOf(), result);
  const cached = await cache.read('pod1', 'net', 'eth0');
  t.same(cached?.attachment, attachmentOf());
  t.same(cached?.result, result);
  t.equal(cached?.networkName, 'net');
  await cache.remove('pod1', 'net', 'eth0');
  t.equal(await cache.read('pod1', 'net', 'eth0'), undefined);
  await t.resolves(cache.remove('pod1', 'net', 'eth0'));
});

t.test('reads what libcni wrote', async (t) => {
  const config = Buffer.from('{"cniVersion":"0.3.1","name":"old","plugins":[{"type":"bridge"}]}').toString('base64');
  const file = `{"kind":"cniCacheV1","containerId":"c1","config":"${config}","ifName":"eth0","networkName":"old",
    "cniArgs":[["IgnoreUnknown","1"]],"result":{"cniVersion":"0.3.1","dns":{},"ips":[{"address":"10.0.0.9/24","version":"4"}]}}`;
  const dir = t.testdir({ results: { 'old-c1-eth0': file } });
  t.match(await new AttachmentCache(dir).readAll(), [
    { networkName: 'old', attachment: { containerId: 'c1', netns: '', args: [['IgnoreUnknown', '1']], capabilityArgs: {} }, list: { name: 'old' }, result: { ips: [{ address: '10.0.0.9/24' }] } },
  ]);
});

t.test('one file that cannot be read harms no other', async (t) => {
  const good = { kind: 'cniCacheV1', containerId: 'c', ifName: 'eth0', networkName: 'n' };
  const config = Buffer.from('{"name":"n","plugins":[{"type":"a"}]}').toString('base64');
  const dir = t.testdir({
    results: {
      a: '{',
      b: '[]',
      c: JSON.stringify({ ...good, kind: 'other' }),
      d: JSON.stringify({ ...good, containerId: '' }),
      e: JSON.stringify({ ...good, ifName: 7 }),
      f: JSON.stringify({ ...good, networkName: undefined }),
      g: JSON.stringify({ ...good, config: '!!', result: { dns: [] }, cniArgs: [['a'], ['a', 'b'], 'x'] }),
      h: JSON.stringify({ ...good, config, result: { cniVersion: '9.0.0' } }),
      folder: {},
    },
  });
  const all = await new AttachmentCache(dir).readAll();
  t.same(all.map(({ file }) => file.slice(-1)), ['g', 'h']);
  t.notOk(all[0] && 'list' in all[0]);
  t.notOk(all[0] && 'result' in all[0]);
  t.same(all[0]?.attachment.args, [['a', 'b']]);
  t.equal(all[1]?.list?.name, 'n');
  t.notOk(all[1] && 'result' in all[1]);
});

t.test('attachments of one container, though names are ambiguous', async (t) => {
  const cache = new AttachmentCache(t.testdir());
  const list = listOf('1.0.0', ['bridge']);
  await cache.write(list, attachmentOf({ containerId: 'a' }));
  await cache.write(list, attachmentOf({ containerId: 'a', ifName: 'net1' }));
  await cache.write(list, attachmentOf({ containerId: 'a-b' }));
  await cache.write(list, attachmentOf({ containerId: 'x-a-y' }));
  t.same((await cache.readAll('a')).map(({ attachment }) => [attachment.containerId, attachment.ifName]), [['a', 'eth0'], ['a', 'net1']]);
  t.equal((await cache.readAll()).length, 4);
});

t.test('what was left half-written of one container goes, and nothing else', async (t) => {
  const of = (...names: string[]) => names.map((name) => `.${name}.tmp`);
  const others = ['.n-b-eth0.tmp', '.n-a-b-eth0.tmp', '.other', 'n-a-eth0.tmp'];
  const dir = t.testdir(Object.fromEntries([...of('n-a-eth0', 'my-net-a-net1'), ...others].map((name) => [name, '{'])));
  const cache = new AttachmentCache(dir);
  await cache.write(listOf('1.0.0', ['bridge']), attachmentOf({ containerId: 'a' }));
  await cache.removeUnfinished('a');
  t.same((await readdir(dir)).sort(), [...others, 'results'].sort());
  t.equal((await cache.readAll('a')).length, 1);
  await new AttachmentCache(join(dir, 'absent')).removeUnfinished('a');
});

t.test('a damaged file is told by its name: among those of its container, and by name among all', async (t) => {
  const names = ['net-a-eth0', 'my-net-a-net1', '-a-eth0', 'net-a-', 'net-x-a-y-a-eth0', 'net-b-eth0'];
  const dir = t.testdir({ results: Object.fromEntries(names.map((name) => [name, '{'])) });
  const cache = new AttachmentCache(dir);
  t.same(await cache.readAll(), []);
  const bare = { netns: '', args: [], capabilityArgs: {} };
  t.match(await cache.readAll('a'), [
    { networkName: 'my-net', attachment: { ...bare, containerId: 'a', ifName: 'net1' }, file: join(dir, 'results/my-net-a-net1') },
    { networkName: 'net', attachment: { ...bare, containerId: 'a', ifName: 'eth0' } },
    { networkName: 'net-x', attachment: { ifName: 'y-a-eth0' } },
  ]);
  t.equal((await cache.readAll('a')).length, 3);
  t.notOk('list' in ((await cache.readAll('a'))[0] ?? {}));
  t.same(await cache.unreadable(), [...names].sort());
  await cache.write(listOf('1.0.0', ['bridge']), attachmentOf({ containerId: 'a' }));
  t.notOk((await cache.unreadable()).includes('net-a-eth0'));
});

t.test('an absent directory holds nothing; one that cannot be read is an error', async (t) => {
  const dir = t.testdir({ file: '' });
  t.same(await new AttachmentCache(join(dir, 'absent')).readAll(), []);
  await mkdir(join(dir, 'odd'));
  await writeFile(join(dir, 'odd', 'results'), '');
  await t.rejects(new AttachmentCache(join(dir, 'odd')).readAll(), { code: 'ENOTDIR' });
});
