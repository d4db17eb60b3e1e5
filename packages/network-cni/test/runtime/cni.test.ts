import { writeFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { Cni, CniError, type Attachment, type CniOptions } from '../../src/index.js';
import { attaching, exited, failedWith, FakePluginRunner, passing, type FakePlugin } from '../../src/testing/index.js';
import { attachmentOf, listOf } from '../fixtures/lists.js';

function setup(t: { testdir(): string }, plugins: Record<string, FakePlugin>, more: Partial<CniOptions> = {}) {
  const runner = new FakePluginRunner(plugins);
  const cacheDir = t.testdir();
  const options = { binDirs: ['/opt/a', '/opt/b'], cacheDir, runner, environment: { PATH: '/bin' }, ...more };
  return { cni: new Cni(options), runner, cacheDir, cached: () => readdir(join(cacheDir, 'results')).catch(() => []) };
}

async function failureOf(run: Promise<unknown>): Promise<CniError> {
  const error: unknown = await run.then(() => undefined, (reason: unknown) => reason);
  if (error instanceof CniError) return error;
  throw new Error(`expected a CniError, got ${String(error)}`);
}

const hanging: FakePlugin = () => delay(60_000, undefined, { ref: false });

t.test('ADD: a chain with prevResult, environment and runtimeConfig', async (t) => {
  const { cni, runner, cached } = setup(t, { bridge: attaching('10.0.0.2/24', 'fd00::2/64'), tuning: passing, portmap: passing });
  const list = listOf('1.0.0', ['bridge', 'tuning', { type: 'portmap', capabilities: { portMappings: true } }]);
  const portMappings = [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }];
  const attachment = attachmentOf({ args: [['IgnoreUnknown', '1'], ['K', 'V']], capabilityArgs: { portMappings, mac: 'x' } });
  const result = await cni.add(list, attachment, { environment: { TRACEPARENT: '00-1' } });

  t.same(result.ips, [{ address: '10.0.0.2/24', interface: 0 }, { address: 'fd00::2/64', interface: 0 }]);
  t.same(runner.order(), ['bridge ADD', 'tuning ADD', 'portmap ADD']);
  t.same(runner.calls[0]?.env, {
    PATH: '/bin',
    TRACEPARENT: '00-1',
    CNI_COMMAND: 'ADD',
    CNI_CONTAINERID: 'pod1',
    CNI_NETNS: '/run/netns/pod1',
    CNI_IFNAME: 'eth0',
    CNI_ARGS: 'IgnoreUnknown=1;K=V',
    CNI_PATH: '/opt/a:/opt/b',
  });
  t.same(runner.calls[0]?.config, { type: 'bridge', cniVersion: '1.0.0', name: 'net' });
  t.match(runner.calls[1]?.config, { prevResult: { cniVersion: '1.0.0', ips: [{ address: '10.0.0.2/24' }, { address: 'fd00::2/64' }] } });
  t.notOk(runner.calls[1] && 'runtimeConfig' in runner.calls[1].config);
  t.same(runner.calls[2]?.config['runtimeConfig'], { portMappings });
  t.same(await cached(), ['net-pod1-eth0']);
});

t.test("prevResult is of the list's version, whatever a plugin answers in", async (t) => {
  const old: FakePlugin = ({ command }) => (command === 'ADD' ? { cniVersion: '0.2.0', ip4: { ip: '10.0.0.2/24', gateway: '10.0.0.1' } } : undefined);
  const { cni, runner } = setup(t, { old, second: passing });
  const result = await cni.add(listOf('0.4.0', ['old', 'second']), attachmentOf());
  t.same(runner.calls[1]?.config['prevResult'], { cniVersion: '0.4.0', ips: [{ version: '4', address: '10.0.0.2/24', gateway: '10.0.0.1' }] });
  t.same(result.ips, [{ address: '10.0.0.2/24', gateway: '10.0.0.1' }]);
});

t.test('DEL: in reverse, with the final result, and the cache is cleared', async (t) => {
  const { cni, runner, cached } = setup(t, { bridge: attaching('10.0.0.2/24'), portmap: passing });
  const list = listOf('0.4.0', ['bridge', 'portmap']);
  await cni.add(list, attachmentOf());
  await cni.del(list, attachmentOf({ netns: '' }));
  t.same(runner.order().slice(2), ['portmap DEL', 'bridge DEL']);
  for (const call of runner.calls.slice(2)) {
    t.equal(call.netns, '', 'N2: the netns is gone');
    t.match(call.config['prevResult'], { cniVersion: '0.4.0', ips: [{ version: '4', address: '10.0.0.2/24' }] });
  }
  t.same(await cached(), []);
  await cni.del(list, attachmentOf());
  t.notOk(runner.calls.at(-1) && 'prevResult' in runner.calls.at(-1)!.config, 'DEL may be repeated, without a result');
});

t.test('before 0.4.0 DEL has no prevResult', async (t) => {
  const { cni, runner, cached } = setup(t, { bridge: attaching('10.0.0.2/24') });
  const list = listOf('0.3.1', ['bridge']);
  await cni.add(list, attachmentOf());
  await cni.del(list, attachmentOf());
  t.notOk('prevResult' in runner.calls[1]!.config);
  t.same(await cached(), []);
});

t.test('N1: a failed ADD stays in the cache until a DEL succeeds', async (t) => {
  let broken = true;
  const second: FakePlugin = ({ command }) => (broken ? failedWith(100, `no ${command}`, 'why') : command === 'ADD' ? {} : undefined);
  const { cni, runner, cached } = setup(t, { bridge: attaching('10.0.0.2/24'), second });
  const list = listOf('1.0.0', ['bridge', 'second']);
  const error = await failureOf(cni.add(list, attachmentOf({ args: [['A', 'B']] })));
  t.match(error, { failure: 'plugin', command: 'ADD', plugin: 'second', network: 'net', code: 100, msg: 'no ADD', details: 'why' });
  t.equal(error.message, 'CNI ADD network net plugin second: no ADD; why (code 100)');
  t.same(runner.order(), ['bridge ADD', 'second ADD'], 'ADD undoes nothing');

  const [pending] = await cni.cachedAttachments();
  t.notOk(pending && 'result' in pending);
  t.match(await failureOf(cni.delCached(pending!)), { command: 'DEL', plugin: 'second' });
  t.same(runner.order().slice(2), ['second DEL'], 'DEL stops at the first failure');
  t.same(await cached(), ['net-pod1-eth0']);

  broken = false;
  await cni.delCached(pending!, { netns: '' });
  t.same(runner.order().slice(3), ['second DEL', 'bridge DEL']);
  t.match(runner.calls.at(-1), { args: 'A=B', netns: '' });
  t.same(await cached(), []);
});

t.test('N4: configuration gone: DEL with the cached one, by container', async (t) => {
  const { cni, runner } = setup(t, { bridge: attaching('10.0.0.2/24') });
  const list = listOf('1.0.0', [{ type: 'bridge', bridge: 'br-of-then', capabilities: { mac: true } }]);
  await cni.add(list, attachmentOf({ capabilityArgs: { mac: 'aa' } }));
  await cni.add(list, attachmentOf({ containerId: 'pod2' }));
  const cached = await cni.cachedAttachments({ containerId: 'pod1' });
  t.equal(cached.length, 1);
  await cni.delCached(cached[0]!);
  t.match(runner.calls.at(-1), { command: 'DEL', netns: '/run/netns/pod1', config: { bridge: 'br-of-then', runtimeConfig: { mac: 'aa' } } });
  t.match(await cni.cached('pod2', 'net', 'eth0'), { networkName: 'net', result: { ips: [{ address: '10.0.0.2/24' }] } });
  t.equal(await cni.cached('pod1', 'net', 'eth0'), undefined);
  t.equal(await cni.cached('../pod2', 'net', 'eth0'), undefined);
});

t.test('a cached attachment without usable configuration says so', async (t) => {
  const { cni } = setup(t, {});
  const error = await failureOf(cni.delCached({ networkName: 'net', attachment: attachmentOf(), file: '/cache/x' }));
  t.match(error, { failure: 'input', command: 'DEL', message: /no usable configuration in \/cache\/x/ });
});

t.test('a damaged cache file: DEL by the configuration that the caller has', async (t) => {
  const { cni, runner, cached } = setup(t, { bridge: attaching('10.0.0.2/24') });
  const list = listOf('1.0.0', ['bridge']);
  await cni.add(list, attachmentOf());
  const [whole] = await cni.cachedAttachments({ containerId: 'pod1' });
  writeFileSync(whole!.file, '{');
  t.same(await cni.unreadableAttachments(), ['net-pod1-eth0']);
  const [damaged] = await cni.cachedAttachments({ containerId: 'pod1' });
  await cni.delCached(damaged!, { list });
  t.match(runner.calls.at(-1), { command: 'DEL', containerId: 'pod1', ifName: 'eth0' });
  t.same(await cached(), []);
});

t.test('a missing plugin fails ADD before any other ran', async (t) => {
  const { cni, runner, cached } = setup(t, { bridge: attaching('10.0.0.2/24') });
  const error = await failureOf(cni.add(listOf('1.0.0', ['bridge', 'absent']), attachmentOf()));
  t.match(error, { failure: 'missing', plugin: 'absent', message: /no such executable in \/opt\/a, \/opt\/b/ });
  t.same(runner.calls, []);
  t.same(await cached(), []);
  const nowhere = new Cni({ binDirs: [], cacheDir: t.testdir() });
  t.match(await failureOf(nowhere.add(listOf('1.0.0', ['bridge']), attachmentOf())), { failure: 'missing', message: /there is no bin directory/ });
});

t.test('every way in which a plugin can go wrong', async (t) => {
  const cases: Array<[FakePlugin, Partial<CniError>]> = [
    [() => exited({ exitCode: 2, stderr: 'panic: oh no\n' }), { failure: 'exit', code: 0, msg: 'exit code 2', details: 'panic: oh no' }],
    [() => exited({ exitCode: 1, stdout: 'usage: plugin' }), { failure: 'exit', msg: 'exit code 1, and no error object but "usage: plugin"' }],
    [() => exited({ exitCode: null }), { failure: 'exit', msg: 'exit code unknown' }],
    [() => exited({ exitCode: 1, stdout: '[1]' }), { failure: 'exit' }],
    [() => exited({ exitCode: 1, stdout: '{"cniVersion":"1.0.0"}' }), { failure: 'exit' }],
    [() => exited({ exitCode: 1, stdout: '{"code":7}' }), { failure: 'plugin', code: 7, msg: 'no message', details: '' }],
    [() => exited({ exitCode: 1, stdout: '{"msg":"m"}' }), { failure: 'plugin', code: 0, msg: 'm' }],
    [() => failedWith(11, 'later'), { failure: 'plugin', code: 11, msg: 'later' }],
    [() => exited({ signal: 'SIGSEGV', stderr: 'x'.repeat(5000) }), { failure: 'signal', msg: 'killed by SIGSEGV', details: `…${'x'.repeat(1024)}` }],
    [() => exited({ stdout: 'hello' }), { failure: 'output', code: 6 }],
    [() => undefined, { failure: 'output', code: 6 }],
    [() => ({ ips: [{ address: 'x' }] }), { failure: 'output', msg: /ips\[0\]\.address/ as unknown as string }],
  ];
  for (const [plugin, expected] of cases) {
    const { cni } = setup(t, { p: plugin });
    t.match(await failureOf(cni.add(listOf('1.0.0', ['p']), attachmentOf())), { command: 'ADD', plugin: 'p', ...expected });
  }
});

t.test('what a runner throws that is no PluginRunError goes on as it is', async (t) => {
  const { cni } = setup(t, { p: () => { throw new RangeError('broken runner'); } });
  await t.rejects(cni.add(listOf('1.0.0', ['p']), attachmentOf()), { name: 'RangeError' });
});

t.test('one deadline for all plugins of an operation; an abort ends it', async (t) => {
  const { cni, runner } = setup(t, { slow: async (call) => { await delay(80); return attaching('10.0.0.2/24')(call); }, hanging });
  const list = listOf('1.0.0', ['slow', 'hanging']);
  const begun = performance.now();
  t.match(await failureOf(cni.add(list, attachmentOf(), { timeoutMs: 200 })), { failure: 'timeout', plugin: 'hanging' });
  t.ok(performance.now() - begun < 1000);
  t.match(await failureOf(cni.add(list, attachmentOf({ containerId: 'p2' }), { signal: AbortSignal.timeout(30) })), { failure: 'aborted', plugin: 'slow' });
  runner.calls.length = 0;
  const aborted = AbortSignal.abort(new Error('caller left'));
  t.match(await failureOf(cni.add(list, attachmentOf({ containerId: 'p3' }), { signal: aborted })), { failure: 'aborted', cause: { message: 'caller left' } });
  t.match(await failureOf(cni.status(listOf('1.1.0', ['slow']), { timeoutMs: 0 })), { failure: 'timeout' });
  t.match(await failureOf(cni.status(listOf('1.1.0', ['slow']), { signal: aborted })), { failure: 'aborted' });
  t.same(runner.calls, []);
});

t.test('invalid names are refused before anything runs', async (t) => {
  const { cni, runner } = setup(t, { p: attaching() });
  const list = listOf('1.0.0', ['p']);
  const cases: Array<[Partial<Attachment>, RegExp]> = [
    [{ containerId: '' }, /container id: missing/],
    [{ containerId: '../x' }, /container id/],
    [{ ifName: 'a/b' }, /interface name/],
    [{ netns: '' }, /netns: ""/],
    [{ netns: 'run/netns/x' }, /netns: "run\/netns\/x" is no absolute path/],
    [{ args: [['a', 'b;c']] }, /CNI_ARGS/],
  ];
  for (const [fields, message] of cases) {
    t.match(await failureOf(cni.add(list, attachmentOf(fields))), { failure: 'input', code: 4, message });
  }
  t.match(await failureOf(cni.del(list, attachmentOf({ netns: 'relative' }))), { failure: 'input' });
  t.match(await failureOf(cni.del({ ...list, name: '../x' }, attachmentOf())), { failure: 'input', message: /network name/ });
  t.match(await failureOf(cni.add({ ...list, plugins: [] }, attachmentOf())), { failure: 'input', message: /no plugins/ });
  t.same(runner.calls, []);
});

t.test('CHECK: with the stored result; rules of version, disableCheck and attachment', async (t) => {
  const { cni, runner } = setup(t, { bridge: attaching('10.0.0.2/24'), second: passing });
  const list = listOf('0.4.0', ['bridge', 'second']);
  t.match(await failureOf(cni.check(list, attachmentOf())), { failure: 'input', command: 'CHECK', message: /pod1 is not attached/ });
  await cni.add(list, attachmentOf());
  runner.calls.length = 0;
  await cni.check(list, attachmentOf());
  t.same(runner.order(), ['bridge CHECK', 'second CHECK']);
  t.match(runner.calls[0]?.config, { prevResult: { cniVersion: '0.4.0', ips: [{ address: '10.0.0.2/24' }] } });

  runner.calls.length = 0;
  await cni.check(listOf('1.0.0', ['bridge'], { disableCheck: true }), attachmentOf());
  t.match(await failureOf(cni.check(listOf('0.3.1', ['bridge']), attachmentOf())), { failure: 'input', code: 1 });
  t.same(runner.calls, []);

  runner.plugins.set('bridge', () => failedWith(101, 'address missing'));
  t.match(await failureOf(cni.check(list, attachmentOf())), { code: 101, plugin: 'bridge' });
  t.same(runner.order(), ['bridge CHECK'], 'stops at the first');
});

t.test('N7: GC frees stale attachments, then tells plugins what is valid', async (t) => {
  const { cni, runner, cached } = setup(t, { bridge: attaching('10.0.0.2/24'), second: passing });
  const list = listOf('1.1.0', ['bridge', 'second']);
  const other = { ...listOf('1.1.0', ['bridge']), name: 'other' };
  await cni.add(list, attachmentOf());
  await cni.add(list, attachmentOf({ containerId: 'stale', args: [['S', '1']] }));
  await cni.add(other, attachmentOf({ containerId: 'elsewhere' }));
  runner.calls.length = 0;
  await cni.gc(list, [{ containerId: 'pod1', ifName: 'eth0' }]);
  t.same(runner.order(), ['second DEL', 'bridge DEL', 'bridge GC', 'second GC']);
  t.match(runner.calls[0], { containerId: 'stale', args: 'S=1' });
  t.same(runner.calls[2]?.config, {
    type: 'bridge',
    cniVersion: '1.1.0',
    name: 'net',
    'cni.dev/valid-attachments': [{ containerID: 'pod1', ifname: 'eth0' }],
    'cni.dev/attachments': [{ containerID: 'pod1', ifname: 'eth0' }],
  });
  t.match(runner.calls[2]?.env, { CNI_COMMAND: 'GC', CNI_CONTAINERID: '', CNI_PATH: '/opt/a:/opt/b' });
  t.same(await cached(), ['net-pod1-eth0', 'other-elsewhere-eth0']);

  runner.calls.length = 0;
  await cni.gc({ ...list, disableGC: true }, []);
  t.same(runner.calls, [], 'disableGC');
  await cni.gc(listOf('1.0.0', ['bridge']), [{ containerId: 'pod1', ifName: 'eth0' }]);
  t.same(runner.calls, [], 'plugins before 1.1 have no GC');
});

t.test('GC goes on after errors and reports all of them', async (t) => {
  const { cni, runner } = setup(t, { bridge: attaching('10.0.0.2/24'), second: passing });
  const list = listOf('1.1.0', ['bridge', 'second']);
  await cni.add(list, attachmentOf());
  runner.calls.length = 0;
  runner.plugins.set('bridge', ({ command }) => failedWith(99, `no ${command}`));
  const error: unknown = await cni.gc(list, []).catch((reason: unknown) => reason);
  t.ok(error instanceof AggregateError);
  t.match(error, { message: /no DEL.*no GC/, errors: [{ command: 'DEL', code: 99 }, { command: 'GC', code: 99 }] });
  t.same(runner.order(), ['second DEL', 'bridge DEL', 'bridge GC', 'second GC']);
});

t.test('N7: GC never runs beside an ADD or DEL', async (t) => {
  let running = 0;
  const seen: string[] = [];
  const plugin: FakePlugin = async (call) => {
    running += 1;
    seen.push(`${call.command} ${running}`);
    await delay(20);
    running -= 1;
    return attaching('10.0.0.2/24')(call);
  };
  const { cni } = setup(t, { p: plugin });
  const list = listOf('1.1.0', ['p']);
  const pods = ['a', 'b', 'c'].map((containerId) => attachmentOf({ containerId }));
  const valid = pods.map(({ containerId, ifName }) => ({ containerId, ifName }));
  await Promise.all([
    ...pods.map((pod) => cni.add(list, pod)),
    cni.gc(list, valid),
    cni.gc(list, valid),
    delay(30).then(() => Promise.all(pods.map((pod) => cni.del(list, pod)))),
  ]);
  const together = seen.filter((line) => line.startsWith('GC') && line !== 'GC 1');
  t.same(together, []);
  t.equal(seen.filter((line) => line === 'GC 1').length, 2);
  t.ok(seen.includes('ADD 3'), 'different containers run together');
});

t.test('GC asks what is valid when nothing else runs any more: an ADD that was under way is not missing', async (t) => {
  const added: string[] = [];
  const plugin: FakePlugin = async (call) => {
    if (call.command !== 'ADD') return undefined;
    await delay(50);
    added.push(call.containerId);
    return attaching('10.0.0.2/24')(call);
  };
  const { cni, runner } = setup(t, { p: plugin });
  const list = listOf('1.1.0', ['p']);
  const adding = cni.add(list, attachmentOf());
  await delay(20);
  t.same(added, []);
  await cni.gc(list, async () => added.map((containerId) => ({ containerId, ifName: 'eth0' })));
  await adding;
  t.same(runner.order(), ['p ADD', 'p GC']);
  t.same(runner.calls.at(-1)?.config['cni.dev/valid-attachments'], [{ containerID: 'pod1', ifname: 'eth0' }]);
});

t.test('N5: a hanging DEL holds up its own container only', async (t) => {
  const { cni } = setup(t, { p: (call) => (call.command === 'DEL' && call.containerId === 'stuck' ? hanging(call) : attaching('10.0.0.2/24')(call)) });
  const list = listOf('1.1.0', ['p']);
  await cni.add(list, attachmentOf({ containerId: 'stuck' }));
  const stuck = failureOf(cni.del(list, attachmentOf({ containerId: 'stuck' }), { timeoutMs: 400 }));
  await t.resolves(cni.add(list, attachmentOf({ containerId: 'other' }), { timeoutMs: 200 }));
  await t.resolves(cni.del(list, attachmentOf({ containerId: 'other' }), { timeoutMs: 200 }));
  t.match(await failureOf(cni.del(list, attachmentOf({ containerId: 'stuck' }), { timeoutMs: 50 })), { failure: 'timeout', msg: /not begun within 50 ms/ });
  t.match(await failureOf(cni.gc(list, [], { timeoutMs: 50 })), { failure: 'timeout', command: 'GC' });
  t.match(await stuck, { failure: 'timeout', plugin: 'p' });
  t.equal((await cni.cachedAttachments()).length, 1, 'DEL can be retried');
});

t.test('STATUS: from 1.1.0 on, the first failure', async (t) => {
  const { cni, runner } = setup(t, { a: passing, b: ({ command }) => (command === 'STATUS' ? failedWith(50, 'daemon down') : undefined), c: passing });
  t.match(await failureOf(cni.status(listOf('1.1.0', ['a', 'b', 'c']))), { command: 'STATUS', code: 50, plugin: 'b' });
  t.same(runner.order(), ['a STATUS', 'b STATUS']);
  t.match(runner.calls[0], { config: { type: 'a', name: 'net', cniVersion: '1.1.0' }, containerId: '', netns: '' });
  runner.calls.length = 0;
  await cni.status(listOf('1.0.0', ['a', 'b']));
  t.same(runner.calls, []);
  await t.resolves(cni.status(listOf('1.1.0', ['a'])));
});

t.test('VERSION and validation of a list', async (t) => {
  const { cni, runner } = setup(t, {
    current: () => ({ cniVersion: '1.1.0', supportedVersions: ['1.0.0', '1.1.0'] }),
    second: () => ({ cniVersion: '0.2.0' }),
    first: () => failedWith(0, 'unknown CNI_COMMAND: VERSION'),
    rubbish: () => exited({ stdout: 'v1' }),
    silent: () => ({ cniVersion: '1.0.0' }),
    odd: () => ({ supportedVersions: [1] }),
    failing: () => failedWith(5, 'broken'),
  });
  t.same(await cni.version('current'), ['1.0.0', '1.1.0']);
  t.match(runner.calls[0], { command: 'VERSION', config: { cniVersion: '1.1.0' }, netns: 'dummy', ifName: 'dummy' });
  t.same(await cni.version('second'), ['0.1.0', '0.2.0']);
  t.same(await cni.version('first'), ['0.1.0']);
  t.match(await failureOf(cni.version('rubbish')), { failure: 'output', plugin: 'rubbish', message: /no JSON object: "v1"/ });
  t.match(await failureOf(cni.version('silent')), { failure: 'output', message: /supportedVersions: missing/ });
  t.match(await failureOf(cni.version('odd')), { failure: 'output', message: /supportedVersions\[0\]/ });
  t.match(await failureOf(cni.version('failing')), { failure: 'plugin', code: 5 });
  t.match(await failureOf(cni.version('absent')), { failure: 'missing' });

  await t.resolves(cni.validate(listOf('1.1.0', ['current', 'current'])));
  t.match(await failureOf(cni.validate(listOf('0.4.0', ['current']))), { failure: 'input', code: 1, plugin: 'current', message: /does not support version 0\.4\.0 but 1\.0\.0, 1\.1\.0/ });
});

t.test('a cache that cannot be written fails ADD before a plugin runs, and does not hold up DEL', async (t) => {
  const { cni, runner, cacheDir } = setup(t, { p: attaching('10.0.0.2/24') });
  await writeFile(join(cacheDir, 'results'), 'in the way');
  const list = listOf('1.0.0', ['p']);
  t.match(await failureOf(cni.add(list, attachmentOf())), { failure: 'storage', message: /cannot store the attachment: E/ });
  t.same(runner.calls, []);
  await t.resolves(cni.del(list, attachmentOf()));
});

t.test('by default plugins are processes with a picked environment', async (t) => {
  const cni = new Cni({ binDirs: ['/bin'], cacheDir: t.testdir() });
  t.match(await failureOf(cni.add(listOf('1.0.0', ['false']), attachmentOf())), { failure: 'exit', msg: 'exit code 1' });
  t.match(await failureOf(cni.add(listOf('1.0.0', ['true']), attachmentOf())), { failure: 'output', message: /printed nothing/ });
});
