import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { capabilityArgs, Cni, CniError, kubernetesCniArgs, NetnsThread, parseConfigList, podIps, type Attachment, type NetworkConfigList } from '../src/index.js';
import { loadSyscalls } from '../src/netns/syscalls.js';
import { pinDirectory } from './fixtures/pin-directory.js';
import { script } from './fixtures/script.js';

// The plugins of the containernetworking project, if they are installed: run by real-plugins.test.ts, in a network namespace that stands for the host's.

const NEEDED = ['bridge', 'host-local', 'portmap', 'loopback'];
const candidates = [process.env['CRIQUET_CNI_BIN_DIR'] ?? '', '/opt/cni/bin', '/usr/lib/cni'];
const binDir = candidates.find((dir) => dir !== '' && NEEDED.every((plugin) => existsSync(join(dir, plugin))));
const reason =
  binDir === undefined ? `no CNI plugins (${NEEDED.join(', ')}) in $CRIQUET_CNI_BIN_DIR, /opt/cni/bin or /usr/lib/cni`
  : process.getuid?.() !== 0 ? 'needs root'
  : spawnSync('iptables', ['--version']).status !== 0 ? 'portmap needs iptables'
  : undefined;

if (reason !== undefined) {
  t.pass('skipped', { skip: reason });
} else {
  loadSyscalls().bringLoopbackUp();
}

const run = (command: string, ...args: string[]): string => spawnSync(command, args, { encoding: 'utf8' }).stdout;
const links = (): string[] => readdirNames(run('ip', '-o', 'link', 'show'));
const rules = (): string => run('iptables-save') + run('ip6tables-save');

function readdirNames(output: string): string[] {
  return output.split('\n').flatMap((line) => /^\d+: ([^:@]+)/.exec(line)?.[1] ?? []);
}

interface World {
  readonly cni: Cni;
  readonly netns: NetnsThread;
  readonly list: NetworkConfigList;
  readonly dir: string;
  attachment(containerId: string, more?: Partial<Attachment>): Attachment;
  /** Addresses that host-local holds. */
  reservations(): Promise<string[]>;
}

async function world(t: Parameters<typeof pinDirectory>[0], more: { cniVersion?: string; plugins?: unknown[]; ranges?: unknown[]; scripts?: string } = {}): Promise<World> {
  const dir = pinDirectory(t);
  const dataDir = join(dir, 'ipam');
  const ranges = more.ranges ?? [[{ subnet: '10.251.7.0/24' }]];
  const bridge = { type: 'bridge', bridge: 'cni-test0', isGateway: true, ipMasq: true, ipam: { type: 'host-local', dataDir, ranges, routes: [{ dst: '0.0.0.0/0' }] } };
  const json = JSON.stringify({ cniVersion: more.cniVersion ?? '1.0.0', name: 'testnet', plugins: [bridge, ...(more.plugins ?? [])] });
  const netns = new NetnsThread();
  t.teardown(() => netns.close());
  t.teardown(() => void run('ip', 'link', 'delete', 'cni-test0'));
  return {
    dir,
    netns,
    cni: new Cni({ binDirs: [...(more.scripts === undefined ? [] : [more.scripts]), binDir ?? ''], cacheDir: join(dir, 'cache'), defaultTimeoutMs: 20_000 }),
    list: parseConfigList(json, '(test)'),
    attachment: (containerId, fields = {}) => ({
      containerId,
      netns: join(dir, 'netns', containerId),
      ifName: 'eth0',
      args: kubernetesCniArgs({ namespace: 'default', name: containerId, uid: 'u', sandboxId: containerId }),
      capabilityArgs: {},
      ...fields,
    }),
    reservations: async () => (await readdir(join(dataDir, 'testnet')).catch(() => [])).filter((name) => /^[0-9a-f]+[.:]/.test(name)),
  };
}

void t.test('ADD, CHECK, DEL with bridge, host-local, portmap: works, and nothing is left', { skip: reason ?? false }, async (t) => {
  const { cni, netns, list, dir, attachment, reservations } = await world(t, { plugins: [{ type: 'portmap', capabilities: { portMappings: true }, snat: true }] });
  const before = links();
  const pod = attachment('pod1', { capabilityArgs: capabilityArgs({ portMappings: [{ hostPort: 18080, containerPort: 80, protocol: 'TCP' }] }) });
  await netns.create(pod.netns);
  await cni.validate(list);
  const result = await cni.add(list, pod);
  t.same(podIps(result, 'eth0'), ['10.251.7.2']);
  t.match(result.interfaces.at(-1), { name: 'eth0', sandbox: pod.netns });
  t.same(await reservations(), ['10.251.7.2']);
  t.match(rules(), /--dport 18080/);
  t.equal(links().length, before.length + 2, 'a bridge and the host end of a pair');
  // portmap before 1.2 looks for the rules of an IPv4 pod in ip6tables too
  if ((await cni.version('portmap')).includes('1.1.0')) await cni.check(list, pod);
  else await t.rejects(cni.check(list, pod), { name: 'CniError', plugin: 'portmap', message: /ipv6 dnat/ }, 'bridge was content, portmap is too old');

  await cni.del(list, pod);
  t.same(await reservations(), []);
  t.same(links(), [...before, 'cni-test0'], 'bridge keeps its bridge');
  t.notMatch(rules(), /18080|CNI-DN-|pod1/);
  t.same(await cni.cachedAttachments(), []);
  await t.rejects(cni.check(list, pod), { name: 'CniError', failure: 'input' });
  await t.resolves(cni.del(list, pod), 'again');
  await netns.release(pod.netns);
  t.same(readdirSync(join(dir, 'netns')), []);
});

void t.test('loopback, and a namespace whose lo is up already', { skip: reason ?? false }, async (t) => {
  const { cni, netns, attachment } = await world(t);
  const lo = parseConfigList('{"cniVersion":"1.0.0","name":"lo","plugins":[{"type":"loopback"}]}', '(test)');
  const pod = attachment('pod-lo', { ifName: 'lo' });
  await netns.create(pod.netns);
  const result = await cni.add(lo, pod);
  t.ok(podIps(result, 'lo').includes('127.0.0.1'));
  await cni.check(lo, pod);
  await cni.del(lo, pod);
});

void t.test('N6: dual stack in both orders of the ranges', { skip: reason ?? false }, async (t) => {
  const v4 = [{ subnet: '10.251.8.0/24' }];
  const v6 = [{ subnet: 'fd00:251:8::/64' }];
  for (const ranges of [[v4, v6], [v6, v4]]) {
    const { cni, netns, list, attachment } = await world(t, { ranges });
    const pod = attachment('pod-dual');
    await netns.create(pod.netns);
    const result = await cni.add(list, pod);
    await cni.check(list, pod);
    const expected = ['10.251.8.2', 'fd00:251:8::2'];
    t.same(podIps(result, 'eth0'), expected);
    const cached = await cni.cached('pod-dual', 'testnet', 'eth0');
    t.same(cached?.result && podIps(cached.result, 'eth0'), expected, 'the same after a restart');
    await cni.del(list, pod);
    run('ip', 'link', 'delete', 'cni-test0');
  }
});

void t.test('N2, N4: netns and configuration gone: the address is freed by the cache', { skip: reason ?? false }, async (t) => {
  const { cni, netns, list, attachment, reservations } = await world(t);
  const pod = attachment('pod-gone');
  await netns.create(pod.netns);
  await cni.add(list, pod);
  t.equal((await reservations()).length, 1);
  await netns.release(pod.netns);
  for (const cached of await cni.cachedAttachments({ containerId: 'pod-gone' })) await cni.delCached(cached, { netns: '' });
  t.same(await reservations(), []);
});

void t.test('N1: a plugin that fails ADD and, at first, DEL leaks no address of a /29', { skip: reason ?? false }, async (t) => {
  const scripts = join(pinDirectory(t), 'bin');
  await mkdir(scripts);
  const log = join(scripts, 'log');
  await writeFile(log, '');
  await script(scripts, 'failing', `echo "$CNI_COMMAND $CNI_CONTAINERID" >> ${log}
    cat > /dev/null
    [ "$CNI_COMMAND" = DEL ] && [ "$(grep -c "DEL $CNI_CONTAINERID" ${log})" -ge 2 ] && exit 0
    echo '{"cniVersion":"1.0.0","code":100,"msg":"not today"}'; exit 1`);
  const { cni, netns, list, attachment, reservations } = await world(t, { scripts, plugins: [{ type: 'failing' }], ranges: [[{ subnet: '10.251.9.0/29' }]] });
  for (let pod = 0; pod < 10; pod += 1) {
    const { containerId, netns: path } = attachment(`pod-${pod}`);
    await netns.create(path);
    await t.rejects(cni.add(list, attachment(containerId)), { name: 'CniError', code: 100, message: /not today/ });
    let attempts = 0;
    for (let [cached] = await cni.cachedAttachments({ containerId }); cached !== undefined; [cached] = await cni.cachedAttachments({ containerId })) {
      attempts += 1;
      await cni.delCached(cached).catch((error: unknown) => t.ok(error instanceof CniError));
    }
    t.equal(attempts, 2);
    await netns.release(path);
  }
  t.same(await reservations(), []);
});

void t.test('an ADD cancelled half-way frees its address with the DEL that follows', { skip: reason ?? false }, async (t) => {
  const scripts = join(pinDirectory(t), 'bin');
  await mkdir(scripts);
  await script(scripts, 'slow', 'cat > /dev/null; [ "$CNI_COMMAND" = ADD ] && sleep 30; exit 0');
  const { cni, netns, list, attachment, reservations } = await world(t, { scripts, plugins: [{ type: 'slow' }] });
  const pod = attachment('pod-cancelled');
  await netns.create(pod.netns);
  await t.rejects(cni.add(list, pod, { timeoutMs: 1500 }), { name: 'CniError', failure: 'timeout', plugin: 'slow' });
  t.equal((await reservations()).length, 1);
  await cni.del(list, pod);
  t.same(await reservations(), []);
});

void t.test('N7: STATUS and GC are accepted; GC frees an attachment that no one uses', { skip: reason ?? false }, async (t) => {
  const newest = (await new Cni({ binDirs: [binDir ?? ''], cacheDir: pinDirectory(t) }).version('bridge')).at(-1) ?? '';
  if (newest !== '1.1.0') t.comment(`the bridge plugin in ${binDir} speaks ${newest}: GC is DEL of stale attachments only`);
  const { cni, netns, list, attachment, reservations } = await world(t, { cniVersion: newest });
  await cni.status(list);
  for (const pod of ['pod-valid', 'pod-stale'].map((id) => attachment(id))) {
    await netns.create(pod.netns);
    await cni.add(list, pod);
  }
  t.equal((await reservations()).length, 2);
  await cni.gc(list, [{ containerId: 'pod-valid', ifName: 'eth0' }]);
  t.same(await reservations(), ['10.251.7.2']);
  t.same((await cni.cachedAttachments()).map((cached) => cached.attachment.containerId), ['pod-valid']);
  await cni.del(list, attachment('pod-valid'));
});
