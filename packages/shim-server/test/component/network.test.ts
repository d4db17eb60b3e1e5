import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import type { RuntimeCondition } from '@criquet/cri-api';
import { attaching, exited, failedWith, type FakePlugin } from '@criquet/network-cni/testing';
import { test } from 'tap';
import { eventually, Shim } from './shim-harness.js';

const attach = attaching('10.1.0.7/24');

async function networkCondition(shim: Shim): Promise<RuntimeCondition | undefined> {
  return (await shim.cri.runtime.status({})).status?.conditions.find(({ type }) => type === 'NetworkReady');
}

async function becomes(shim: Shim, ready: boolean, ms = 2_500): Promise<RuntimeCondition | undefined> {
  return eventually(async () => {
    const condition = await networkCondition(shim);
    if (condition?.status !== ready) throw new Error(`NetworkReady is ${String(condition?.status)}: ${condition?.message}`);
    return condition;
  }, ms);
}

const count = (shim: Shim, command: string) => shim.plugins.calls.filter((call) => call.command === command).length;

test('N4 no configuration: NetworkReady false, RunPodSandbox UNAVAILABLE, nothing left; N3 it appears later', async (t) => {
  const shim = await Shim.start({ network: false });
  t.teardown(() => shim.close());
  t.match(await networkCondition(shim), { status: false, reason: 'NetworkPluginNotReady', message: new RegExp(shim.config.cni.confDir) });
  await t.rejects(shim.runPod(), { code: status.UNAVAILABLE, details: /^plan: no pod network: / });
  t.same(await shim.leftovers(), []);
  await shim.writeNetwork();
  t.match(await becomes(shim, true), { reason: '', message: '' });
  await shim.runPod();
});

test('N3 configuration comes and goes in every way', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { confDir } = shim.config.cni;
  const list = JSON.stringify({ cniVersion: '1.0.0', name: 'again', plugins: [{ type: 'net' }] });
  await rm(confDir, { recursive: true });
  await becomes(shim, false);
  await mkdir(confDir);
  await writeFile(join(confDir, '.new'), list);
  await rename(join(confDir, '.new'), join(confDir, '10-x.conflist'));
  await becomes(shim, true);
  await writeFile(join(confDir, '10-x.conflist'), '{"name": "broken"');
  t.match(await becomes(shim, false), { message: /10-x\.conflist/ });
  await writeFile(join(confDir, '10-x.conflist'), list);
  await becomes(shim, true);
  await rename(confDir, `${confDir}-real`);
  await symlink(`${confDir}-real`, confDir);
  await becomes(shim, true);
});

test('UpdateRuntimeConfig renders the template for the pod CIDR, and leaves others\' configuration alone', async (t) => {
  const template = '{"cniVersion":"1.0.0","name":"rendered","plugins":[{"type":"net","ipam":{"subnet":"{{.PodCIDR}}"}}]}';
  let path = '';
  const shim = await Shim.start({
    network: false,
    change: (config) => {
      path = join(config.stateDir, '..', 'net.conflist.template');
      return { ...config, cni: { ...config.cni, confTemplate: path } };
    },
  });
  t.teardown(() => shim.close());
  const update = (podCidr: string) => shim.cri.runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr } } });
  await t.rejects(update('10.9.0.0/24'), { code: status.FAILED_PRECONDITION, details: /cni\.conf_template/ });
  await writeFile(path, template);
  await t.rejects(update('nonsense'), { code: status.INVALID_ARGUMENT, details: /pod_cidr/ });
  await update('');
  t.equal((await networkCondition(shim))?.status, false, 'no CIDR, no configuration');
  await update('10.9.0.0/24');
  t.equal((await networkCondition(shim))?.status, true, 'at once');
  await shim.runPod();
  t.match(shim.plugins.calls.find(({ command }) => command === 'ADD')?.config, { name: 'rendered', ipam: { subnet: '10.9.0.0/24' } });
  await update('10.8.0.0/24');
  await shim.runPod({ metadata: { name: 'two', namespace: 'ns', uid: 'u2' } });
  t.match(shim.plugins.calls.filter(({ command }) => command === 'ADD').at(-1)?.config, { ipam: { subnet: '10.8.0.0/24' } });

  await rm(join(shim.config.cni.confDir, '10-criquet.conflist'));
  await shim.writeNetwork();
  await eventually(async () => {
    const { info } = await shim.cri.runtime.status({ verbose: true });
    if (!JSON.stringify(info).includes('10-test.conflist')) throw new Error('not yet');
  });
  await update('10.7.0.0/24');
  const { info } = await shim.cri.runtime.status({ verbose: true });
  t.notMatch(JSON.stringify(info), /10-criquet/);
});

test('without a template UpdateRuntimeConfig does nothing', async (t) => {
  const shim = await Shim.start({ network: false });
  t.teardown(() => shim.close());
  await shim.cri.runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: '10.0.0.0/24' } } });
  t.equal((await networkCondition(shim))?.status, false);
});

test('N7 a plugin whose STATUS fails or hangs: NetworkReady false with what it said', async (t) => {
  let answer: FakePlugin = () => undefined;
  const shim = await Shim.start({
    plugins: { net: (call) => (call.command === 'STATUS' ? answer(call) : attach(call)) },
    change: (config) => ({ ...config, cni: { ...config.cni, statusTimeout: 300 } }),
    network: false,
  });
  t.teardown(() => shim.close());
  await writeFile(join(shim.config.cni.confDir, '10-x.conflist'), JSON.stringify({ cniVersion: '1.1.0', name: 'x', plugins: [{ type: 'net' }] }));
  await becomes(shim, true);
  answer = () => failedWith(50, 'no addresses left');
  t.match(await becomes(shim, false), { reason: 'NetworkPluginNotReady', message: /no addresses left/ });
  answer = () => new Promise(() => undefined);
  const began = Date.now();
  t.match(await networkCondition(shim), { status: false });
  t.ok(Date.now() - began < 2_000);
  answer = () => undefined;
  await becomes(shim, true);
});

const rubbish: readonly [string, FakePlugin, RegExp][] = [
  ['fails with an error object', () => failedWith(7, 'bad config', 'really'), /bad config/],
  ['says try again later', () => failedWith(11, 'later'), /later/],
  ['prints rubbish', () => exited({ stdout: 'Hello!' }), /net/],
  ['prints nothing', () => exited({ stdout: '' }), /net/],
  ['dies of a signal', () => exited({ signal: 'SIGSEGV' }), /SIGSEGV/],
  ['fails without a word', () => exited({ exitCode: 3, stderr: 'panic: oops' }), /oops/],
  ['gives no address', () => ({ cniVersion: '1.0.0', ips: [] }), /no address/],
];
for (const [what, plugin, says] of rubbish) {
  test(`a plugin that ${what}: the step and the plugin are named, DEL follows, nothing is left`, async (t) => {
    const shim = await Shim.start({ plugins: { net: (call) => (call.command === 'ADD' ? plugin(call) : undefined) } });
    t.teardown(() => shim.close());
    const error = await shim.runPod().catch((reason: unknown) => reason);
    t.match(error, { details: /^attach to the pod network: / });
    t.match(error, { details: says });
    t.match(error, { code: what === 'says try again later' ? status.UNAVAILABLE : what === 'gives no address' ? status.FAILED_PRECONDITION : status.INTERNAL });
    t.equal(count(shim, 'DEL'), 1);
    t.same(await shim.leftovers(), []);
    t.same((await shim.cri.runtime.listPodSandbox({})).items, []);
  });
}

test('the second plugin of a chain fails: DEL goes to both, in reverse', async (t) => {
  const shim = await Shim.start({
    plugins: { net: attach, second: (call) => (call.command === 'ADD' ? failedWith(7, 'second says no') : undefined) },
  });
  t.teardown(() => shim.close());
  await shim.writeNetwork([{ type: 'net' }, { type: 'second' }]);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  await t.rejects(shim.runPod(), { code: status.INTERNAL, details: /second says no/ });
  t.same(shim.plugins.order(), ['net ADD', 'second ADD', 'second DEL', 'net DEL']);
  t.same(await shim.leftovers(), []);
});

test('a plugin that is not there: nothing ran, nothing is left', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.writeNetwork([{ type: 'net' }, { type: 'absent' }]);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  await t.rejects(shim.runPod(), { code: status.INTERNAL, details: /absent/ });
  t.same(shim.plugins.order(), []);
  t.same(await shim.leftovers(), []);
});

test('a plugin that hangs on ADD is ended at the limit', async (t) => {
  const shim = await Shim.start({
    plugins: { net: (call) => (call.command === 'ADD' ? new Promise(() => undefined) : undefined) },
    change: (config) => ({ ...config, cni: { ...config.cni, addTimeout: 300 } }),
  });
  t.teardown(() => shim.close());
  const began = Date.now();
  const error = await shim.runPod().catch((reason: unknown) => reason);
  t.match(error, { details: /attach to the pod network.*net/ });
  t.ok(Date.now() - began < 3_000);
  t.same(await shim.leftovers(), []);
});

test('N5 a plugin that hangs on DEL: StopPodSandbox fails at the limit, others go on, DEL is tried again in the background', async (t) => {
  let hang = true;
  const shim = await Shim.start({
    plugins: { net: (call) => (call.command === 'DEL' && hang ? new Promise(() => undefined) : attach(call)) },
    change: (config) => ({ ...config, cni: { ...config.cni, delTimeout: 400 } }),
  });
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const stop = shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  stop.catch(() => undefined);
  const other = await shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'u2' } });
  await t.rejects(stop, { details: /detach from the pod network/, code: status.INTERNAL });
  t.match((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status, { state: 1 });
  t.ok([...shim.netns.pins.keys()].some((path) => path.includes(pod)), 'its namespace is kept for the DEL');
  hang = false;
  await eventually(() => {
    if ([...shim.netns.pins.keys()].some((path) => path.includes(pod))) throw new Error('still there');
  });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: other });
  t.same(await shim.leftovers(), []);
});

test('N1 ADD and DEL fail N times: everything that was reserved is freed in the end', async (t) => {
  const reserved = new Set<string>();
  let failures = 3;
  const shim = await Shim.start({
    plugins: {
      ipam: (call) => {
        if (call.command === 'ADD') reserved.add(call.containerId);
        if (call.command === 'DEL') reserved.delete(call.containerId);
        return attach(call);
      },
      flaky: ({ command, config }) => {
        if (failures > 0) {
          failures -= 1;
          return failedWith(999, `${command} failed`);
        }
        return command === 'ADD' ? config.prevResult : undefined;
      },
    },
  });
  t.teardown(() => shim.close());
  await shim.writeNetwork([{ type: 'ipam' }, { type: 'flaky' }]);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  let pod = '';
  for (let attempt = 0; attempt < 10 && pod === ''; attempt++) pod = await shim.runPod().catch(() => '');
  t.equal(reserved.size, 1, 'only the pod that lives holds an address');
  t.match(pod, /^[0-9a-f]{64}$/);
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.equal(reserved.size, 0);
  t.same((await shim.leftovers()).filter((line) => !/ADDs/.test(line)), []);
});

test('N4 configuration and plugin go away under a running pod: DEL by the cached configuration, when the plugin is back', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await rm(join(shim.config.cni.confDir, '10-test.conflist'));
  shim.plugins.plugins.delete('net');
  await t.rejects(shim.cri.runtime.stopPodSandbox({ podSandboxId: pod }), { code: status.INTERNAL, details: /net/ });
  t.match((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status, { state: 1 });
  shim.plugins.plugins.set('net', attach);
  await eventually(() => {
    if (shim.netns.pins.size > 0) throw new Error('still there');
  });
  t.match(shim.plugins.calls.at(-1), { command: 'DEL', config: { name: 'test' } });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('several networks: eth0 from the first, net1 from the second, both are detached in reverse', async (t) => {
  const shim = await Shim.start({
    plugins: { net: attach, more: attaching('10.2.0.7/24') },
    change: (config) => ({ ...config, cni: { ...config.cni, maxConfNum: 2 } }),
    network: false,
  });
  t.teardown(() => shim.close());
  const write = (name: string, type: string) =>
    writeFile(join(shim.config.cni.confDir, `${name}.conflist`), JSON.stringify({ cniVersion: '1.0.0', name, plugins: [{ type }] }));
  await write('10-first', 'net');
  await write('20-second', 'more');
  await becomes(shim, true);
  const pod = await shim.runPod();
  t.same(shim.plugins.calls.map(({ plugin, command, ifName }) => `${plugin} ${command} ${ifName}`), ['net ADD eth0', 'more ADD net1']);
  t.match((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status?.network, { ip: '10.1.0.7', additionalIps: [] });
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  t.same(shim.plugins.calls.slice(2).map(({ plugin, command, ifName }) => `${plugin} ${command} ${ifName}`), ['more DEL net1', 'net DEL eth0']);
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('the namespace cannot be made: nothing is left', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const create = shim.netns.create.bind(shim.netns);
  shim.netns.create = () => Promise.reject(new Error('no namespaces left'));
  await t.rejects(shim.runPod(), { code: status.INTERNAL, details: /^pin the network namespace: no namespaces left/ });
  t.same(await shim.leftovers(), []);
  shim.netns.create = create;
  await shim.runPod();
});

test('the cache of attachments cannot be written: no ADD without a way to undo it', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await mkdir(shim.config.cni.cacheDir, { recursive: true });
  await writeFile(join(shim.config.cni.cacheDir, 'results'), 'in the way');
  await chmod(join(shim.config.cni.cacheDir, 'results'), 0o600);
  await t.rejects(shim.runPod(), { code: status.INTERNAL, details: /cannot store the attachment/ });
  t.equal(count(shim, 'ADD'), 0);
  await rm(join(shim.config.cni.cacheDir, 'results'));
});

const damages: readonly [string, (file: string) => Promise<void>][] = [
  ['cut off', (file) => writeFile(file, '{"kind":"cniCacheV1","containerId":')],
  ['empty', (file) => writeFile(file, '')],
  ['without its configuration', async (file) => {
    const { config: _, ...rest } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    await writeFile(file, JSON.stringify(rest));
  }],
];
for (const [how, damage] of damages) {
  test(`the cache file of an attachment is ${how}: DEL by the configuration of today, with the pod's own arguments`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const pod = await shim.runPod();
    const [file = ''] = await readdir(join(shim.config.cni.cacheDir, 'results'));
    await damage(join(shim.config.cni.cacheDir, 'results', file));
    await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
    t.match(shim.plugins.calls.at(-1), { command: 'DEL', containerId: pod, ifName: 'eth0', config: { name: 'test' }, args: /K8S_POD_NAME=pod/ });
    await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
    t.same(await shim.leftovers(), []);
  });
}

test('a damaged cache file and no configuration of its network: the DEL stays owed, and the error says the way out', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const [name = ''] = await readdir(join(shim.config.cni.cacheDir, 'results'));
  const file = join(shim.config.cni.cacheDir, 'results', name);
  await writeFile(file, '');
  await rm(join(shim.config.cni.confDir, '10-test.conflist'));
  await becomes(shim, false);
  const refused = { code: status.FAILED_PRECONDITION, details: new RegExp(`${file} cannot be read, and no network "test" is configured`) };
  await t.rejects(shim.cri.runtime.stopPodSandbox({ podSandboxId: pod }), refused);
  await shim.writeNetwork();
  await becomes(shim, true);
  await eventually(() => {
    if (shim.netns.pins.size > 0) throw new Error('still there');
  });
  t.match(shim.plugins.calls.at(-1), { command: 'DEL', containerId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('the cache file of an attachment is lost: the pod is detached from the networks of today', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await rm(join(shim.config.cni.cacheDir, 'results'), { recursive: true });
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  t.match(shim.plugins.calls.at(-1), { command: 'DEL', containerId: pod, ifName: 'eth0' });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});
