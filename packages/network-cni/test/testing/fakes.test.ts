import t from 'tap';
import { PluginRunError, type PluginRequest } from '../../src/index.js';
import { attaching, exited, failedWith, FakeNetnsProvider, FakePluginRunner, passing } from '../../src/testing/index.js';

const request = (more: Partial<PluginRequest> = {}): PluginRequest => ({ path: '/bin/p', env: { CNI_COMMAND: 'ADD' }, stdin: '{}', timeoutMs: 1000, ...more });

t.test('a fake plugin prints what it returns, or ends as it says', async (t) => {
  const runner = new FakePluginRunner({ p: () => ({ a: 1 }) });
  t.same(await runner.run(request()), { stdout: '{"a":1}', stderr: '', exitCode: 0, signal: null });
  runner.plugins.set('p', () => undefined);
  t.match(await runner.run(request({ stdin: '[]', env: {} })), { stdout: '', exitCode: 0 });
  runner.plugins.set('p', () => failedWith(7, 'bad', 'very'));
  const exit = await runner.run(request());
  t.equal(exit.exitCode, 1);
  t.same(JSON.parse(exit.stdout), { cniVersion: '1.1.0', code: 7, msg: 'bad', details: 'very' });
  runner.plugins.set('p', () => exited({ signal: 'SIGKILL', exitCode: 1 }));
  t.match(await runner.run(request()), { exitCode: null, signal: 'SIGKILL' });
  t.same(runner.order().slice(2), ['p ADD', 'p ADD']);
});

t.test('the plugins of the table exist, others do not', async (t) => {
  const runner = new FakePluginRunner({ p: passing });
  t.equal(await runner.find('p', ['/opt']), '/opt/p');
  t.equal(await runner.find('p', []), '/fake/p');
  t.equal(await runner.find('q', ['/opt']), undefined);
  await t.rejects(runner.run(request({ path: '/bin/q' })), { name: 'PluginRunError', failure: 'spawn' });
});

t.test('a waiting fake plugin is stopped as a process would be', async (t) => {
  const runner = new FakePluginRunner({ p: () => new Promise(() => undefined) });
  await t.rejects(runner.run(request({ timeoutMs: 20 })), { name: 'PluginRunError', failure: 'timeout' });
  const error: unknown = await runner.run(request({ signal: AbortSignal.timeout(20) })).catch((reason: unknown) => reason);
  t.ok(error instanceof PluginRunError && error.failure === 'aborted');
});

t.test('attaching and passing answer ADD only', async (t) => {
  const runner = new FakePluginRunner({ a: attaching('10.0.0.2/24', 'fd00::2/64'), p: passing });
  const env = { CNI_COMMAND: 'ADD', CNI_IFNAME: 'eth0', CNI_NETNS: '/n' };
  const answer: unknown = JSON.parse((await runner.run(request({ path: '/a', env, stdin: '{"cniVersion":"0.4.0"}' }))).stdout);
  t.same(answer, {
    cniVersion: '0.4.0',
    interfaces: [{ name: 'eth0', sandbox: '/n' }],
    ips: [{ address: '10.0.0.2/24', interface: 0, version: '4' }, { address: 'fd00::2/64', interface: 0, version: '6' }],
  });
  t.equal((await runner.run(request({ path: '/p', env, stdin: '{"prevResult":{"x":1}}' }))).stdout, '{"x":1}');
  for (const path of ['/a', '/p']) t.equal((await runner.run(request({ path, env: { CNI_COMMAND: 'DEL' } }))).stdout, '');
});

t.test('namespaces in memory', async (t) => {
  const netns = new FakeNetnsProvider();
  await netns.create('/n/a', { sysctls: { 'net.a': '1' } });
  t.same([...netns.pins], [['/n/a', { 'net.a': '1' }]]);
  t.equal(await netns.exists('/n/a'), true);
  await t.rejects(netns.create('/n/a'), { name: 'NetnsError', code: 'EEXIST' });
  await t.rejects(netns.create('/n/b', { signal: AbortSignal.abort() }), { name: 'AbortError' });
  await netns.release('/n/a');
  await netns.release('/n/a');
  t.equal(await netns.exists('/n/a'), false);
  await netns.create('/n/a');
  await netns.close();
});
