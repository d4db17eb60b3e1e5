import { CriCallError } from '@criquet/cri-api';
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { EventQueue, followLog, PodSync, SyncError, type Manifest, type PodSyncOptions, type SyncEvent } from '../../src/index.js';
import { FakeRuntime } from '../../src/testing/index.js';
import { FakeMounter, manifest, node } from '../fixtures.js';

const UNAVAILABLE = 14;

/** A PodSync over a fake runtime whose clock is the real one, as back-off needs it. */
function setUp(t: { testdir(): string }, options: Partial<PodSyncOptions> = {}) {
  const cri = new FakeRuntime();
  cri.now = BigInt(Date.now()) * 1_000_000n;
  const events: SyncEvent[] = [];
  const dir = t.testdir();
  const mounter = new FakeMounter();
  const pods = new PodSync({
    cri,
    rootDir: join(dir, 'root'),
    logRoot: join(dir, 'logs'),
    node,
    mounter,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { cri, pods, events, dir, mounter };
}

/** Syncs until nothing is left to do. */
async function settle(pods: PodSync, m: Manifest): Promise<void> {
  for (let i = 0; i < 20; i++) if ((await pods.sync(m)).idle) return;
  throw new Error('never idle');
}

const steps = (events: readonly SyncEvent[], pass: number) =>
  events.filter((event) => event.type === 'step' && event.pass === pass).map((event) => (event.type === 'step' ? event.step : ''));

await t.test('a new pod: the seven steps in order, containers one after the other', async (t) => {
  const { cri, pods, events, dir } = setUp(t);
  const m = manifest('containers: [{name: a, image: "x:1"}, {name: b, image: "x:1"}]', '', 'uid: u');
  const result = await pods.sync(m);
  t.match(result, { idle: false, failures: [], waiting: [] });
  t.same(steps(events, 1), ['compute', 'kill-sandbox', 'kill-containers', 'create-sandbox', 'start-ephemeral', 'start-init', 'start-containers']);
  t.same(cri.actions, [
    'RunPodSandbox p',
    'PullImage x:1',
    'CreateContainer a',
    'StartContainer a',
    'CreateContainer b',
    'StartContainer b',
  ]);
  const calls = events.filter((event) => event.type === 'call');
  t.ok(calls.every((event) => event.durationMs >= 0 && event.error === undefined));
  t.same(calls.find((event) => event.call === 'RunPodSandbox')?.step, 'create-sandbox');
  t.ok(statSync(join(dir, 'logs/default_p_u')).isDirectory(), 'the log directory is there before the sandbox');
  t.match(readFileSync(join(dir, 'root/pods/u/etc-hosts'), 'utf8'), /10\.0\.0\.2\tp/);
  t.match(await pods.sync(m), { idle: true });
  t.same(steps(events, 2), ['compute']);
  t.match(await pods.statusOf(m), { phase: 'Running', ips: ['10.0.0.2'], sandbox: { ready: true, attempt: 0 } });
});

await t.test('init containers one after the other, ordinary ones when all are done', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('initContainers: [{name: i1, image: x}, {name: i2, image: x}]\ncontainers: [{name: a, image: x}]');
  cri.behaviour.set('i2', { exitCode: 0 });
  await pods.sync(m);
  await pods.sync(m);
  t.equal(cri.latest('i2'), undefined, 'the first still runs');
  t.equal((await pods.statusOf(m)).phase, 'Pending');
  cri.exit('i1', 0);
  await settle(pods, m);
  t.same(
    cri.actions.filter((action) => action.startsWith('Start')),
    ['StartContainer i1', 'StartContainer i2', 'StartContainer a'],
  );
});

await t.test('a failed init container: again, or the pod has failed', async (t) => {
  const spec = (policy: string) => `restartPolicy: ${policy}\ninitContainers: [{name: i, image: x}]\ncontainers: [{name: a, image: x}]`;
  const again = setUp(t);
  again.cri.behaviour.set('i', { exitCode: 3 });
  await again.pods.sync(manifest(spec('OnFailure')));
  await again.pods.sync(manifest(spec('OnFailure')));
  const third = await again.pods.sync(manifest(spec('OnFailure')));
  t.match(third.waiting, [{ container: 'i', reason: 'CrashLoopBackOff' }]);
  t.equal(again.cri.latest('i')?.metadata?.attempt, 1, 'tried again at once, then with a pause');
  t.match(again.cri.latest('i')?.annotations, { 'io.kubernetes.container.restartCount': '1' });

  const never = setUp(t);
  never.cri.behaviour.set('i', { exitCode: 3 });
  const m = manifest(spec('Never'));
  await settle(never.pods, m);
  t.match(await never.pods.statusOf(m), { phase: 'Failed', sandbox: { ready: false } });
  t.equal(never.cri.actions.at(-1), 'StopPodSandbox');
});

await t.test('sidecars: started before what follows, restarted, no obstacle to the end', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest(
    'restartPolicy: OnFailure\ninitContainers: [{name: s, image: x, restartPolicy: Always}, {name: i, image: x}]\ncontainers: [{name: a, image: x}]',
  );
  cri.behaviour.set('i', { exitCode: 0 });
  await settle(pods, m);
  t.same(
    cri.actions.filter((action) => action.startsWith('Start')),
    ['StartContainer s', 'StartContainer i', 'StartContainer a'],
  );
  cri.exit('s', 1);
  await settle(pods, m);
  t.equal(cri.latest('s')?.metadata?.attempt, 1, 'restarted though the policy is OnFailure');
  cri.exit('a', 0);
  await settle(pods, m);
  t.match(await pods.statusOf(m), { phase: 'Succeeded' });
  t.same(cri.actions.slice(-2), ['StopContainer s', 'StopPodSandbox']);
});

await t.test('restart policy', async (t) => {
  for (const [policy, exitCode, restarts] of [
    ['Always', 0, true],
    ['Always', 1, true],
    ['OnFailure', 0, false],
    ['OnFailure', 1, true],
    ['Never', 0, false],
    ['Never', 1, false],
  ] as const) {
    const { cri, pods } = setUp(t);
    const m = manifest(`restartPolicy: ${policy}\ncontainers: [{name: a, image: x}, {name: other, image: x}]`);
    await settle(pods, m);
    cri.exit('a', exitCode);
    await settle(pods, m);
    t.equal(cri.latest('a')?.metadata?.attempt, restarts ? 1 : 0, `${policy}, exit code ${exitCode}`);
  }
});

await t.test('back-off of a container that keeps failing', async (t) => {
  const { cri, pods, events } = setUp(t);
  const m = manifest('containers: [{name: a, image: x}, {name: b, image: x}]');
  cri.behaviour.set('a', { exitCode: 1 });
  await pods.sync(m);
  await pods.sync(m);
  const result = await pods.sync(m);
  t.match(result.waiting, [{ container: 'a', reason: 'CrashLoopBackOff' }]);
  t.ok((result.waiting[0]?.retryInMs ?? 0) > 8000 && (result.waiting[0]?.retryInMs ?? 0) <= 10_000);
  t.match(events.find((event) => event.type === 'waiting'), { container: 'a', reason: 'CrashLoopBackOff' });
  t.equal(cri.latest('b')?.metadata?.attempt, 0, 'others go on');
});

await t.test('a pod whose work is done', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('restartPolicy: Never\ncontainers: [{name: a, image: x}, {name: b, image: x}]');
  cri.behaviour.set('a', { exitCode: 0 }).set('b', { exitCode: 0 });
  t.match(await pods.waitRunning(m), { phase: 'Succeeded' });
  await settle(pods, m);
  t.match(await pods.statusOf(m), { phase: 'Succeeded', sandbox: { ready: false } });
  t.match(await pods.sync(m), { idle: true }, 'no new sandbox');
  cri.behaviour.set('c', { exitCode: 2 });
  const failed = manifest('restartPolicy: Never\ncontainers: [{name: c, image: x}]', '', 'uid: other');
  t.match(await pods.keep(failed), { phase: 'Failed', containers: [{ exitCode: 2, reason: 'Error' }] });
});

await t.test('a changed container is started anew, a removed one stopped', async (t) => {
  const { cri, pods } = setUp(t);
  await settle(pods, manifest('containers: [{name: a, image: x}, {name: b, image: x}, {name: c, image: x}]'));
  const before = cri.actions.length;
  await settle(pods, manifest('containers: [{name: a, image: x}, {name: b, image: x, args: [new]}]'));
  t.same(cri.actions.slice(before).sort(), ['CreateContainer b', 'PullImage x:latest', 'StartContainer b', 'StopContainer b', 'StopContainer c']);
  t.equal(cri.latest('b')?.metadata?.attempt, 1);
  t.same(cri.configOf('b')?.args, ['new']);
});

await t.test('a changed sandbox is made anew, and everything in it', async (t) => {
  const { cri, pods, events } = setUp(t);
  const spec = 'initContainers: [{name: i, image: "x:1"}]\ncontainers: [{name: a, image: "x:1"}]';
  cri.behaviour.set('i', { exitCode: 0 });
  await settle(pods, manifest(spec));
  const before = cri.actions.length;
  await settle(pods, manifest(`hostname: h\n${spec}`));
  t.same(cri.actions.slice(before), [
    'StopContainer a',
    'StopPodSandbox',
    'RunPodSandbox p',
    'CreateContainer i',
    'StartContainer i',
    'CreateContainer a',
    'StartContainer a',
    // The first of the two dead init containers.
    'RemoveContainer',
  ]);
  const kill = events.find((event) => event.type === 'step' && event.step === 'kill-sandbox' && event.detail !== '');
  t.match(kill, { detail: 'the sandbox must be made anew: its definition changed' });
  t.equal([...cri.sandboxes.values()].at(-1)?.config.metadata?.attempt, 1);
  t.equal(cri.latest('a')?.metadata?.attempt, 1);
});

await t.test('a sandbox that is not ready any more is replaced', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('containers: [{name: a, image: "x:1"}]');
  await settle(pods, m);
  const [first] = cri.sandboxes.keys();
  await cri.runtime.stopPodSandbox({ podSandboxId: first as string });
  await settle(pods, m);
  t.equal(cri.sandboxes.size, 2);
  t.match(await pods.statusOf(m), { phase: 'Running', sandbox: { attempt: 1, ready: true } });
  // A third attempt leaves the first sandbox without use.
  const second = [...cri.sandboxes.keys()][1];
  await cri.runtime.stopPodSandbox({ podSandboxId: second as string });
  t.match(await pods.sync(m), { waiting: [{ container: 'a' }] }, 'the second end within ten seconds');
  await pods.sync(m);
  t.notOk(cri.sandboxes.has(first as string), 'collected');
});

await t.test('a sandbox without address is replaced, hostNetwork needs none', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('containers: [{name: a, image: x}]');
  await settle(pods, m);
  const [sandbox] = cri.sandboxes.values();
  if (sandbox?.status.network !== undefined) sandbox.status.network.ip = '';
  await pods.sync(m);
  t.equal(cri.sandboxes.size, 2);
  const host = manifest('hostNetwork: true\ncontainers: [{name: a, image: x, env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]}]', '', 'uid: h');
  await settle(pods, host);
  t.equal(cri.configOf('a')?.envs[0]?.value.toString(), '192.0.2.10');
});

await t.test('dead containers beyond the newest are collected with their logs', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('containers: [{name: a, image: x}]');
  await settle(pods, m);
  const first = cri.latest('a');
  writeFileSync(log(first?.logPath), '');
  cri.exit('a', 0);
  await pods.sync(m);
  t.ok(cri.containers.has(first?.id ?? ''), 'the newest dead one is kept');
  cri.exit('a', 0);
  // The pause after the second failure is skipped by a changed definition.
  await settle(pods, manifest('containers: [{name: a, image: x, args: [b]}]'));
  t.notOk(cri.containers.has(first?.id ?? ''));
  t.notOk(existsSync(first?.logPath ?? ''));
});

function log(path: string | undefined): string {
  if (path === undefined) throw new Error('no log path');
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

await t.test('containers whose state is unknown are killed before another is started', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('initContainers: [{name: s, image: x, restartPolicy: Always}]\ncontainers: [{name: a, image: x}]');
  await settle(pods, m);
  for (const name of ['a', 's']) {
    const status = cri.latest(name);
    if (status !== undefined) status.state = 3;
  }
  const before = cri.actions.length;
  await pods.sync(m);
  const actions = cri.actions.slice(before);
  t.ok(actions.indexOf('StopContainer a') < actions.indexOf('StartContainer a'));
  t.ok(actions.indexOf('StopContainer s') < actions.indexOf('StartContainer s'));
});

await t.test('ephemeral containers start once, also during initialization', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest(
    'initContainers: [{name: i, image: x}]\ncontainers: [{name: a, image: x}]\nephemeralContainers: [{name: e, image: x, targetContainerName: i}]',
  );
  await pods.sync(m);
  await pods.sync(m);
  t.equal(cri.configOf('e')?.linux?.securityContext?.namespaceOptions?.targetId, cri.latest('i')?.id);
  cri.exit('e', 1);
  await pods.sync(m);
  t.equal(cri.latest('e')?.metadata?.attempt, 0, 'never restarted');
});

await t.test('image pull policies', async (t) => {
  const pulls = async (policy: string, present: boolean) => {
    const { cri, pods } = setUp(t);
    if (present) await cri.image.pullImage({ image: { image: 'x:1' } });
    cri.calls.length = 0;
    const result = await pods.sync(manifest(`containers: [{name: a, image: "x:1", imagePullPolicy: ${policy}}]`));
    return { count: cri.calls.filter(({ call }) => call === 'PullImage').length, failures: result.failures, image: cri.configOf('a')?.image?.image };
  };
  t.match(await pulls('Always', true), { count: 1, failures: [] });
  t.match(await pulls('IfNotPresent', true), { count: 0, failures: [], image: /^sha256:/ });
  t.match(await pulls('IfNotPresent', false), { count: 1, failures: [], image: /^sha256:/ });
  t.match(await pulls('Never', true), { count: 0, failures: [] });
  const never = await pulls('Never', false);
  t.equal(never.count, 0);
  t.match(never.failures[0], { reason: 'ErrImageNeverPull', container: 'a', message: /image x:1 is not present and imagePullPolicy is Never/ });
});

await t.test('pulls with credentials, and their back-off', async (t) => {
  const { cri, pods } = setUp(t);
  const auths = { auths: { 'r.example': { username: 'one', password: 'p' } } };
  const second = { auths: { 'r.example': { username: 'two', password: 'p' } } };
  const secret = (name: string, value: object) =>
    `---\napiVersion: v1\nkind: Secret\nmetadata: {name: ${name}}\ndata: {.dockerconfigjson: ${Buffer.from(JSON.stringify(value)).toString('base64')}}\n`;
  const m = manifest(
    'imagePullSecrets: [{name: s1}, {name: s2}]\ncontainers: [{name: a, image: "r.example/x:1"}, {name: b, image: "y:1"}]',
    secret('s1', auths) + secret('s2', second),
  );
  cri.failNext('PullImage', new CriCallError('PullImage', 2, 'unauthorized'));
  t.match(await pods.sync(m), { failures: [] });
  const users = cri.calls.filter(({ call }) => call === 'PullImage').map(({ request }) => (request.auth as { username: string } | undefined)?.username);
  t.same(users, ['one', 'two', undefined], 'the second is tried when the first is refused; none for another registry');

  const failing = setUp(t);
  failing.cri.failNext('PullImage', new CriCallError('PullImage', 2, 'RegistryUnavailable: no'), 9);
  const other = manifest('containers: [{name: a, image: "z:1"}]');
  t.match((await failing.pods.sync(other)).failures, [{ reason: 'ErrImagePull', container: 'a', message: 'container a: ErrImagePull: PullImage: UNKNOWN: RegistryUnavailable: no' }]);
  t.match(await failing.pods.sync(other), { failures: [], waiting: [{ container: 'a', reason: 'ImagePullBackOff' }] });
});

await t.test('each failure has its reason, and the pass goes on with other containers', async (t) => {
  const broken = new CriCallError('x', UNAVAILABLE, 'broken');
  const twoContainers = 'containers: [{name: a, image: "x:1"}, {name: b, image: "x:1"}]';
  for (const [call, reason] of [
    ['CreateContainer', 'CreateContainerError'],
    ['StartContainer', 'RunContainerError'],
  ] as const) {
    const { cri, pods } = setUp(t);
    cri.failNext(call, broken);
    const result = await pods.sync(manifest(twoContainers));
    t.match(result.failures, [{ reason, container: 'a' }], reason);
    t.ok(cri.latest('b')?.startedAt, 'the other runs');
    await settle(pods, manifest(twoContainers));
    t.match(await pods.statusOf(manifest(twoContainers)), { phase: 'Running' }, 'tried again');
  }
  const sandbox = setUp(t);
  sandbox.cri.failNext('RunPodSandbox', broken);
  t.match((await sandbox.pods.sync(manifest(twoContainers))).failures, [{ reason: 'CreatePodSandboxError', container: undefined }]);
  await settle(sandbox.pods, manifest(twoContainers));

  const nonRoot = setUp(t);
  const m = manifest('containers: [{name: a, image: x, securityContext: {runAsNonRoot: true}}]');
  t.match((await nonRoot.pods.sync(m)).failures, [{ reason: 'CreateContainerConfigError', message: /its image runs as root/ }]);

  const volume = setUp(t);
  const v = manifest('containers: [{name: a, image: x}]\nvolumes: [{name: v, hostPath: {path: /nonexistent, type: File}}]');
  t.match((await volume.pods.sync(v)).failures, [{ reason: 'VolumeError', message: /volume "v": hostPath \/nonexistent cannot be read/ }]);
  t.equal(volume.cri.sandboxes.size, 0, 'no sandbox without its volumes');

  const kill = setUp(t);
  await settle(kill.pods, manifest('containers: [{name: a, image: "x:1"}, {name: b, image: "x:1"}]'));
  kill.cri.failNext('StopContainer', broken);
  const changed = manifest('containers: [{name: a, image: "x:1", args: [new]}, {name: b, image: "x:1"}]');
  t.match((await kill.pods.sync(changed)).failures, [{ reason: 'KillContainerError', container: 'a' }]);
  t.equal(kill.cri.latest('a')?.metadata?.attempt, 0, 'no second one beside it');
  kill.cri.failNext('StopPodSandbox', broken);
  t.match((await kill.pods.sync(manifest('hostname: h\ncontainers: [{name: a, image: "x:1"}]'))).failures, [{ reason: 'KillPodError' }]);
});

await t.test('a runtime that does not answer fails the sync', async (t) => {
  const { cri, pods } = setUp(t);
  cri.failNext('ListPodSandbox', new CriCallError('ListPodSandbox', UNAVAILABLE, 'gone'));
  await t.rejects(pods.sync(manifest('containers: [{name: a, image: x}]')), { name: 'CriCallError', code: UNAVAILABLE });
});

await t.test('objects that vanish between the list and the question are left out', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('containers: [{name: a, image: x}]');
  await settle(pods, m);
  cri.failNext('ContainerStatus', new CriCallError('ContainerStatus', 5, 'gone'));
  t.match((await pods.statusOf(m)).containers, [{ name: 'a', state: 'waiting' }]);
  cri.failNext('ContainerStatus', new CriCallError('ContainerStatus', 13, 'broken'));
  await t.rejects(pods.statusOf(m), { code: 13 });
});

await t.test('hooks', async (t) => {
  const { cri, pods } = setUp(t);
  const ran: string[] = [];
  cri.exec = (name, command) => {
    ran.push(`${name}: ${command.join(' ')}`);
    return { exitCode: command[0] === 'fail' ? 3 : 0 };
  };
  const m = manifest(`
terminationGracePeriodSeconds: 9
containers:
  - {name: a, image: x, lifecycle: {postStart: {exec: {command: [hello, you]}}, preStop: {exec: {command: [fail]}}}}
  - {name: b, image: x, lifecycle: {postStart: {exec: {command: [fail]}}}}
  - {name: c, image: x, lifecycle: {preStop: {sleep: {seconds: 0}}}}`);
  const result = await pods.sync(m);
  t.match(result.failures, [{ reason: 'PostStartHookError', container: 'b', message: /hook of container b exited with code 3/ }]);
  t.equal(cri.latest('b')?.state, 2, 'killed');
  await pods.stop('p');
  t.same(ran, ['a: hello you', 'b: fail', 'a: fail']);
  const stops = cri.calls.filter(({ call }) => call === 'StopContainer').map(({ request }) => request.timeout);
  t.ok(stops.includes(9n), 'the grace period of the manifest');
});

await t.test('stop and remove', async (t) => {
  const { cri, pods, dir, mounter } = setUp(t);
  const m = manifest(
    'initContainers: [{name: s1, image: x, restartPolicy: Always}, {name: s2, image: x, restartPolicy: Always}]\ncontainers: [{name: a, image: x, volumeMounts: [{name: v, mountPath: /v, subPath: s}]}]\nvolumes: [{name: v, emptyDir: {medium: Memory}}]',
    '',
    'uid: u-1, namespace: ns',
  );
  await settle(pods, m);
  t.ok(mounter.mounts.length === 2);
  await t.rejects(pods.remove('ns/p'), { name: 'PodRunningError', message: 'pod ns/p is running; stop it first or use force' });
  const before = cri.actions.length;
  await pods.stop('ns/p', { graceSeconds: 1 });
  t.same(cri.actions.slice(before), ['StopContainer a', 'StopContainer s2', 'StopContainer s1', 'StopPodSandbox'], 'sidecars last, in reverse order');
  await pods.stop('ns/p');
  await pods.remove('ns/p');
  t.equal(cri.containers.size + cri.sandboxes.size, 0);
  t.same(mounter.mounts, []);
  t.notOk(existsSync(join(dir, 'root/pods/u-1')));
  t.notOk(existsSync(join(dir, 'logs/ns_p_u-1')));
  await t.rejects(pods.remove('ns/p'), { name: 'PodLookupError', reason: 'not-found', message: 'there is no pod "ns/p"' });

  await settle(pods, m);
  await pods.remove('p', { force: true, graceSeconds: 0 });
  t.equal(cri.sandboxes.size, 0);
  t.ok(cri.calls.some(({ call, request }) => call === 'StopContainer' && request.timeout === 0n));
});

await t.test('a pod that has finished is removed without force', async (t) => {
  const { cri, pods } = setUp(t);
  let removed = 0;
  for (const [exitCode, phase] of [[0, 'Succeeded'], [3, 'Failed']] as const) {
    await settle(pods, manifest('restartPolicy: Never\ninitContainers: [{name: s, image: x, restartPolicy: Always}]\ncontainers: [{name: a, image: x}]'));
    cri.exit('a', exitCode);
    t.match(await pods.podStatus('p'), { phase, sandbox: { ready: true } }, 'nobody has stopped its sandbox yet');
    await pods.remove('p');
    removed++;
    t.equal(cri.containers.size + cri.sandboxes.size, 0);
    t.equal(cri.calls.filter(({ call }) => call === 'StopContainer').length, removed, 'the sidecar, which still ran');
  }
  await settle(pods, manifest('restartPolicy: OnFailure\ncontainers: [{name: a, image: x}]'));
  cri.exit('a', 3);
  await t.rejects(pods.remove('p'), { name: 'PodRunningError' }, 'one that is to be restarted has not');
});

await t.test('a container that cannot be stopped does not save the others', async (t) => {
  const { cri, pods } = setUp(t);
  await settle(pods, manifest('containers: [{name: a, image: "x:1"}, {name: b, image: "x:1"}]'));
  cri.failNext('StopContainer', new CriCallError('StopContainer', UNAVAILABLE, 'stuck'));
  await t.rejects(pods.stop('p'), { message: /stuck/ });
  t.equal(cri.calls.filter(({ call }) => call === 'StopContainer').length, 2);
});

await t.test('pods are found by name, namespace and id', async (t) => {
  const { pods, cri } = setUp(t);
  const spec = 'containers: [{name: a, image: "x:1"}]';
  for (const metadata of ['uid: aaaa-1', 'uid: bbbb-2, namespace: one', 'uid: cccc-3, namespace: two']) await settle(pods, manifest(spec, '', metadata));
  t.equal((await pods.podStatus('p')).uid, 'aaaa-1', 'the namespace default first');
  t.equal((await pods.podStatus('one/p')).uid, 'bbbb-2');
  t.equal((await pods.podStatus('cccc')).uid, 'cccc-3');
  const [id] = cri.sandboxes.keys();
  t.equal((await pods.podStatus(id as string)).uid, 'aaaa-1');
  await t.rejects(pods.podStatus('00'), { message: /"00" can mean .*default\/p \(uid aaaa-1\)/ });
  await t.rejects(pods.podStatus('c'), { message: 'there is no pod "c"' }, 'one character is not enough');
  await t.rejects(pods.podStatus('three/p'), { message: 'there is no pod "three/p"' });
  t.same((await pods.list()).map((status) => status.namespace), ['default', 'one', 'two']);
});

await t.test('status without the manifest: kinds, own labels and annotations, times', async (t) => {
  const { cri, pods } = setUp(t);
  cri.behaviour.set('i', { exitCode: 0 });
  const m = manifest(
    'restartPolicy: Never\ninitContainers: [{name: i, image: "x:1"}, {name: s, image: "x:1", restartPolicy: Always}]\ncontainers: [{name: a, image: "x:1"}]',
    '',
    'labels: {app: l}, annotations: {note: a}',
  );
  await settle(pods, m);
  const status = await pods.podStatus('p');
  t.same(status.labels, { app: 'l' });
  t.same(status.annotations, { note: 'a' });
  t.same(status.containers.map(({ name, kind, state }) => [name, kind, state]), [
    ['i', 'init', 'terminated'],
    ['s', 'sidecar', 'running'],
    ['a', 'container', 'running'],
  ]);
  t.match(status.containers[2], { image: 'x:1', restartCount: 0, startedAt: Date, logPath: /default_p_.*\/a\/0\.log$/ });
  cri.exit('a', 1);
  await pods.stop('p');
  t.equal((await pods.podStatus('p')).phase, 'Failed', 'the restart policy is known from the sandbox');
});

await t.test('termination messages', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('restartPolicy: Never\ncontainers: [{name: a, image: x}, {name: b, image: x, terminationMessagePolicy: FallbackToLogsOnError}, {name: keep, image: x}]');
  await settle(pods, m);
  const file = cri.configOf('a')?.mounts.find((mount) => mount.containerPath === '/dev/termination-log')?.hostPath;
  writeFileSync(file as string, `last words${'.'.repeat(5000)}`);
  appendFileSync(log(cri.latest('b')?.logPath), '2024-01-01T00:00:00Z stderr F it broke\n');
  cri.exit('a', 1);
  cri.exit('b', 1);
  const [a, b] = (await pods.statusOf(m)).containers;
  t.match(a?.message, /^last words\.+$/);
  t.equal(a?.message?.length, 4096);
  t.equal(b?.message, 'it broke\n');
});

await t.test('exec and logs', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('containers: [{name: a, image: x}, {name: b, image: x}]', '', 'annotations: {kubectl.kubernetes.io/default-container: b}');
  await settle(pods, m);
  cri.exec = (name, command) => ({ stdout: Buffer.from(`${name} ${command.join(' ')}`), exitCode: 4 });
  t.match(await pods.exec('p', ['do', 'it'], { timeoutSeconds: 5 }), { exitCode: 4, stdout: Buffer.from('b do it') });
  t.match(await pods.exec('p', ['x'], { container: 'a' }), { stdout: Buffer.from('a x') });
  await t.rejects(pods.exec('p', ['x'], { container: 'z' }), { message: 'pod default/p has no container "z"; its containers: a, b' });
  cri.exit('a', 0);
  await t.rejects(pods.exec('p', ['x'], { container: 'a' }), { message: 'container a of pod p is not running' });

  const path = log(cri.latest('b')?.logPath);
  writeFileSync(path, '2024-01-01T00:00:00Z stdout F one\n');
  const seen: string[] = [];
  const following = (async () => {
    for await (const record of pods.logs('p', { follow: true })) seen.push(record.content.toString());
  })();
  await sleep(50);
  appendFileSync(path, '2024-01-01T00:00:00Z stdout F two\n');
  await sleep(50);
  cri.exit('b', 0);
  await following;
  t.same(seen, ['one\n', 'two\n']);
  const tail = [];
  for await (const record of pods.logs('p', { container: 'b', tail: 1 })) tail.push(record.content.toString());
  t.same(tail, ['two\n']);
});

await t.test('waitRunning: until it runs, fails fast, times out', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('initContainers: [{name: i, image: "x:1"}]\ncontainers: [{name: a, image: "x:1"}]');
  setTimeout(() => cri.exit('i', 0), 60);
  t.match(await pods.waitRunning(m), { phase: 'Running', containers: [{ name: 'i', state: 'terminated' }, { name: 'a', state: 'running' }] });

  cri.failNext('CreateContainer', new CriCallError('CreateContainer', 13, 'no'), 1);
  const other = manifest('containers: [{name: a, image: "x:1"}]', '', 'uid: o');
  await t.rejects(pods.waitRunning(other, { failFast: true }), SyncError);
  t.match(await pods.waitRunning(other), { phase: 'Running' }, 'tried again');

  const stuck = manifest('initContainers: [{name: i, image: "x:1"}]\ncontainers: [{name: a, image: "x:1"}]', '', 'uid: stuck');
  await t.rejects(pods.waitRunning(stuck, { signal: AbortSignal.timeout(100) }), { name: 'TimeoutError' });
});

await t.test('a cancelled sync makes no further call', async (t) => {
  const { cri } = setUp(t);
  const stop = new AbortController();
  const m = manifest('containers: [{name: a, image: "x:1"}, {name: b, image: "x:1"}]');
  cri.failNext('StartContainer', new Error('cancelled'));
  const listening = new PodSync({
    cri,
    rootDir: t.testdir(),
    logRoot: t.testdir(),
    node,
    mounter: new FakeMounter(),
    onEvent: (event) => {
      if (event.type === 'call' && event.call === 'StartContainer') stop.abort(new Error('enough'));
    },
  });
  await t.rejects(listening.sync(m, { signal: stop.signal }), { message: 'enough' });
  t.equal(cri.actions.at(-1), 'StartContainer a');
});

await t.test('one signal may bound any number of pods and logs', async (t) => {
  const { pods, dir } = setUp(t);
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning.name);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  const stop = new AbortController();
  const signal = stop.signal;
  const names = Array.from({ length: 20 }, (_, index) => `u${index}`);
  const kept = names.map((uid) => pods.keep(manifest('containers: [{name: a, image: x}]', '', `uid: ${uid}`), { signal }));
  const log = join(dir, 'log');
  writeFileSync(log, '');
  const logs = new AbortController();
  const followed = names.map(async () => {
    for await (const _ of followLog(log, { follow: true, ended: () => Promise.resolve(false), signal: logs.signal }));
  });
  await sleep(200);
  stop.abort();
  logs.abort();
  t.ok((await Promise.allSettled(kept)).every((result) => result.status === 'rejected'));
  await Promise.all(followed);
  t.same(warnings, []);
});

await t.test('events as an async iterable', async (t) => {
  const queue = new EventQueue();
  const { pods } = setUp(t, { onEvent: queue.push });
  const seen: string[] = [];
  const reading = (async () => {
    for await (const event of queue) seen.push(event.type === 'call' ? event.call : event.type);
  })();
  await pods.sync(manifest('containers: [{name: a, image: "x:1"}]'));
  await sleep(1);
  queue.close();
  await reading;
  t.equal(seen[0], 'step');
  t.ok(seen.includes('plan') && seen.includes('StartContainer'));
});

await t.test('operations on one pod do not overlap', async (t) => {
  const { cri, pods } = setUp(t);
  const m = manifest('containers: [{name: a, image: "x:1"}]');
  await Promise.all([pods.sync(m), pods.sync(m), pods.sync(m)]);
  t.equal(cri.sandboxes.size, 1);
  t.equal(cri.containers.size, 1);
});
