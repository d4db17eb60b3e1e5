import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cni, CniConfigError, CniError, ConfigDirectory, parseConfig, parseConfigList, podIps, type Attachment } from '@criquet/network-cni';
import { exited, FakePluginRunner } from '@criquet/network-cni/testing';
import * as fc from 'fast-check';
import { test, type Test } from 'tap';
import { hostileJson, hostileText } from './hostile.js';
import { damaged } from './damaged.js';
import { fuzzing } from './parameters.js';

const LIST = '{"cniVersion":"1.1.0","name":"net","plugins":[{"type":"a","capabilities":{"portMappings":true}},{"type":"b"}]}';
const RESULT = '{"cniVersion":"1.1.0","interfaces":[{"name":"eth0","sandbox":"/n","mac":"02:00:00:00:00:01","mtu":1500}],"ips":[{"address":"10.1.0.7/24","gateway":"10.1.0.1","interface":0},{"address":"fd00::7/64","interface":0}],"routes":[{"dst":"0.0.0.0/0","gw":"10.1.0.1","mtu":1400,"table":0,"scope":0}],"dns":{"nameservers":["10.0.0.2"],"domain":"d","search":["s"],"options":["o"]}}';
const attachment = (containerId: string): Attachment => ({ containerId, netns: '/n', ifName: 'eth0', args: [['K8S_POD_NAME', 'p']], capabilityArgs: { portMappings: [] } });

async function directory(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'criquet-cni-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

test('results of plugins: a result that can be used, or a CniError; DEL succeeds afterwards and nothing stays', async (t) => {
  const cacheDir = await directory(t);
  const runner = new FakePluginRunner();
  const cni = new Cni({ binDirs: ['/fake'], cacheDir, runner });
  const list = parseConfigList(LIST, 'net.conflist');
  let containers = 0;
  const answers = fc.oneof(
    damaged(RESULT).map((stdout) => exited({ stdout })),
    hostileJson.map((value) => exited({ stdout: JSON.stringify(value) })),
    fc.tuple(damaged('{"cniVersion":"1.0.0","code":7,"msg":"no","details":"d"}'), fc.constantFrom(1, 0, 255, 137)).map(([stdout, exitCode]) => exited({ stdout, exitCode })),
    fc.tuple(hostileText, hostileText, fc.constantFrom<NodeJS.Signals | null>(null, 'SIGKILL', 'SIGSEGV')).map(([stdout, stderr, signal]) => exited({ stdout, stderr, signal })),
  );
  const add = async (first: unknown, second: unknown) => {
    runner.plugins.set('a', ({ command }) => (command === 'ADD' ? first : undefined));
    runner.plugins.set('b', ({ command }) => (command === 'ADD' ? second : undefined));
    const attached = attachment(`c${containers++}`);
    const result = await cni.add(list, attached).catch((error: unknown) => {
      if (!(error instanceof CniError)) throw error;
      return undefined;
    });
    if (result !== undefined) for (const ip of podIps(result, 'eth0')) if (isIP(ip) === 0) throw new Error(`${JSON.stringify(ip)} is no address`);
    await cni.del(list, attached);
    if ((await readdir(join(cacheDir, 'results'))).length > 0) throw new Error('the attachment is still in the cache');
    runner.calls.length = 0;
  };
  await fc.assert(fc.asyncProperty(answers, answers, add), fuzzing(150));
});

test('cache files: one that is damaged harms no other, and names nothing outside of the cache', async (t) => {
  const cacheDir = await directory(t);
  const runner = new FakePluginRunner({ a: ({ command }) => (command === 'ADD' ? JSON.parse(RESULT) : undefined), b: ({ command, config }) => (command === 'ADD' ? config['prevResult'] : undefined) });
  const cni = new Cni({ binDirs: ['/fake'], cacheDir, runner });
  const list = parseConfigList(LIST, 'net.conflist');
  await cni.add(list, attachment('good'));
  const results = join(cacheDir, 'results');
  const [name = ''] = await readdir(results);
  const good = await readFile(join(results, name), 'utf8');
  const content = fc.oneof(damaged(good), hostileJson.map((value) => JSON.stringify(value)), hostileText);
  const read = async (text: string) => {
    await writeFile(join(results, 'net-bad-eth0'), text);
    const found = await cni.cachedAttachments();
    if (!found.some(({ attachment: { containerId } }) => containerId === 'good')) throw new Error('the good one is not found');
    for (const cached of found) {
      if (cached.attachment.containerId === 'good') continue;
      await cni.delCached(cached).catch((error: unknown) => {
        if (!(error instanceof CniError) && !(error instanceof CniConfigError)) throw error;
      });
    }
    await cni.gc(list, [{ containerId: 'good', ifName: 'eth0' }]).catch((error: unknown) => {
      if (!(error instanceof AggregateError) || !error.errors.every((one) => one instanceof CniError)) throw error;
    });
    if (!(await readdir(results)).includes(name)) throw new Error('the good one is gone');
    await rm(join(results, 'net-bad-eth0'), { force: true });
    runner.calls.length = 0;
  };
  await fc.assert(fc.asyncProperty(content, read), fuzzing(150));
});

test('configuration lists: a list whose plugins are names of files, or a CniConfigError', async (t) => {
  const plugin = fc.record({ type: fc.oneof(fc.constant('bridge'), hostileText, hostileJson), capabilities: fc.oneof(fc.constant(undefined), hostileJson), ipam: hostileJson }, { requiredKeys: ['type'] });
  const document = fc.record(
    { cniVersion: fc.oneof(fc.constantFrom('1.1.0', '0.4.0'), hostileJson), name: fc.oneof(fc.constant('net'), hostileText, hostileJson), plugins: fc.oneof(fc.array(plugin, { maxLength: 3 }), hostileJson), disableCheck: hostileJson },
    { requiredKeys: ['name', 'plugins'] },
  );
  const texts = fc.oneof(damaged(LIST), document.map((value) => JSON.stringify(value)), hostileJson.map((value) => JSON.stringify(value)), hostileText);
  fc.assert(
    fc.property(texts, fc.boolean(), (text, single) => {
      try {
        const { name, plugins } = (single ? parseConfig : parseConfigList)(text, 'x.conflist');
        if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name)) throw new Error(`name ${JSON.stringify(name)}`);
        for (const { type } of plugins) if (/[/\0]/.test(type) || ['', '.', '..'].includes(type)) throw new Error(`type ${JSON.stringify(type)}`);
      } catch (error) {
        if (!(error instanceof CniConfigError)) throw error;
      }
    }),
    fuzzing(400),
  );
  t.pass('all of them');
});

test('a configuration directory with files of any content: the state says what is wrong', async (t) => {
  const dir = join(await directory(t), 'net.d');
  await mkdir(dir);
  const texts = fc.oneof(damaged(LIST), hostileText, hostileJson.map((value) => JSON.stringify(value)));
  const load = async (text: string, extension: string) => {
    await writeFile(join(dir, `10-a.${extension}`), text);
    const configs = new ConfigDirectory({ dir });
    await configs.start();
    configs.current();
    await configs.close();
    await rm(join(dir, `10-a.${extension}`));
  };
  await fc.assert(fc.asyncProperty(texts, fc.constantFrom('conflist', 'conf', 'json'), load), fuzzing(60));
  t.pass('all of them');
});
