import { status } from '@grpc/grpc-js';
import t from 'tap';
import { encodeProcess, encodeResources, isFailedPrecondition, isNotFound, isTaskGone, runcOptions } from '../../src/index.js';
import { Status } from '../../src/gen/types/task/task.js';
import { container, fixture, NAMESPACE, until } from '../support/fixture.js';

const quiet = { stdin: '', stdout: '', stderr: '', terminal: false };
const task = (containerId: string) => ({ containerId, rootfs: [], ...quiet });
const process = { user: { uid: 0, gid: 0 }, args: ['ls'], cwd: '/' };

t.test('create, start, kill, wait, delete', async (t) => {
  const { fake, client } = await fixture(t);
  await client.containers.create(container('a'));
  const rootfs = [{ type: 'bind', source: '/x', target: '', options: ['rbind', 'ro'] }];
  const pid = await client.tasks.create({ ...task('a'), rootfs, options: runcOptions({ binaryName: 'crun' }), runtimePath: '/shim' });
  t.match(fake.control.requests('tasks.create'), [{ rootfs, runtimePath: '/shim', options: { typeUrl: 'containerd.runc.v1.Options' } }]);
  t.match(await client.tasks.get('a'), { containerId: 'a', execId: '', pid, status: 'created', exitStatus: 0, exitedAt: 0n });
  await t.rejects(client.tasks.create(task('a')), { code: status.ALREADY_EXISTS });
  const exit = client.tasks.wait('a');
  t.equal(await client.tasks.start('a'), pid);
  t.match(await client.tasks.get('a'), { status: 'running' });
  await t.rejects(client.tasks.start('a'), { code: status.FAILED_PRECONDITION });
  t.ok(isFailedPrecondition(await client.tasks.delete('a').catch((e: unknown) => e)), 'running');
  await client.tasks.kill('a', { signal: 15 });
  const { exitStatus, exitedAt } = await exit;
  t.equal(exitStatus, 143);
  t.match(await client.tasks.get('a'), { status: 'stopped', exitStatus: 143, exitedAt });
  t.ok(isNotFound(await client.tasks.kill('a', { signal: 9 }).catch((e: unknown) => e)), 'already ended');
  t.same(await client.tasks.delete('a'), { pid, exitStatus: 143, exitedAt });
  t.ok(isNotFound(await client.tasks.get('a').catch((e: unknown) => e)));
  const events = fake.events.decoded;
  t.match(events, [
    { topic: '/containers/create', id: 'a' },
    { topic: '/tasks/create', containerId: 'a', pid },
    { topic: '/tasks/start', containerId: 'a', pid },
    { topic: '/tasks/exit', containerId: 'a', execId: '', pid, exitStatus: 143, exitedAt },
    { topic: '/tasks/delete', containerId: 'a', execId: '', exitStatus: 143 },
  ]);
  t.ok(events.every(({ namespace }) => namespace === NAMESPACE));
});

t.test('wait has no deadline of its own', async (t) => {
  const { client } = await fixture(t, { defaultTimeoutMs: 50 });
  await client.containers.create(container('a'));
  await client.tasks.create(task('a'));
  await client.tasks.start('a');
  setTimeout(() => void client.tasks.kill('a', { signal: 9 }), 120);
  t.match(await client.tasks.wait('a'), { exitStatus: 137 });
  await client.tasks.delete('a');
});

t.test('exec processes', async (t) => {
  const { fake, client } = await fixture(t, {
    program: (process) => {
      if (process.args[0] === 'fail') process.exit(42);
    },
  });
  await client.containers.create(container('a'));
  await client.tasks.create(task('a'));
  const exec = (execId: string, args: string[]) =>
    client.tasks.exec({ containerId: 'a', execId, spec: encodeProcess({ ...process, args }), ...quiet });
  await t.rejects(exec('early', ['x']), { code: status.FAILED_PRECONDITION }, 'not started');
  await client.tasks.start('a');
  await exec('e', ['fail']);
  await t.rejects(exec('e', ['fail']), { code: status.ALREADY_EXISTS });
  const exit = client.tasks.wait('a', 'e');
  const pid = await client.tasks.start('a', 'e');
  t.match(await exit, { exitStatus: 42 });
  t.match(await client.tasks.get('a', 'e'), { execId: 'e', pid, status: 'stopped', exitStatus: 42 });
  t.match(await client.tasks.deleteProcess('a', 'e'), { pid, exitStatus: 42 });
  t.ok(isNotFound(await client.tasks.get('a', 'e').catch((e: unknown) => e)));

  await exec('long', ['sleep']);
  const longPid = await client.tasks.start('a', 'long');
  t.same(await client.tasks.pids('a'), [{ pid: fake.process(NAMESPACE, 'a').pid }, { pid: longPid, execId: 'long' }]);
  t.ok(isFailedPrecondition(await client.tasks.deleteProcess('a', 'long').catch((e: unknown) => e)));
  await client.tasks.kill('a', { signal: 10, all: true });
  t.same(fake.process(NAMESPACE, 'a', 'long').signals, [10]);
  const both = Promise.all([client.tasks.wait('a', 'long'), client.tasks.wait('a')]);
  await client.tasks.kill('a', { signal: 9 });
  t.match(await both, [{ exitStatus: 137 }, { exitStatus: 137 }], 'the container takes its exec processes along');
  const topics = fake.events.decoded.filter(({ topic }) => topic.startsWith('/tasks/exec') || topic === '/tasks/exit');
  t.match(topics, [
    { topic: '/tasks/exec-added', execId: 'e' },
    { topic: '/tasks/exec-started', execId: 'e', pid },
    { topic: '/tasks/exit', execId: 'e', exitStatus: 42 },
    { topic: '/tasks/exec-added', execId: 'long' },
    { topic: '/tasks/exec-started', execId: 'long' },
    { topic: '/tasks/exit', execId: '', exitStatus: 137 },
    { topic: '/tasks/exit', execId: 'long', exitStatus: 137 },
  ]);
});

t.test('the rest of the calls', async (t) => {
  const { fake, client } = await fixture(t);
  await client.containers.create(container('a'));
  await client.containers.create(container('b'));
  await client.tasks.create(task('a'));
  await client.tasks.create(task('b'));
  await client.tasks.start('a');
  await client.tasks.pause('a');
  t.match(await client.tasks.list(), [
    { containerId: 'a', execId: '', status: 'paused' },
    { containerId: 'b', status: 'created' },
  ]);
  await t.rejects(client.tasks.pause('a'), { code: status.FAILED_PRECONDITION });
  await client.tasks.resume('a');
  t.match(await client.tasks.get('a'), { status: 'running' });

  await client.tasks.resizePty('a', { width: 80, height: 24 });
  t.same(fake.process(NAMESPACE, 'a').size, { width: 80, height: 24 });
  await client.tasks.closeIo('a');
  t.match(fake.control.requests('tasks.closeIO'), [{ containerId: 'a', execId: '', stdin: true }]);
  await client.tasks.update({ containerId: 'a', resources: encodeResources({ cpu: { shares: 512 } }), annotations: { k: 'v' } });
  t.same(fake.task(NAMESPACE, 'a').resources, { cpu: { shares: 512 } });
  t.match(fake.control.requests('tasks.update'), [{ annotations: { k: 'v' } }]);
  await client.tasks.update({ containerId: 'a', resources: encodeResources({}) });
  t.same(await client.tasks.checkpoint('a'), []);
  t.same(await client.tasks.checkpoint('a', { parent: 'p', options: runcOptions({}) }), []);
  t.match(fake.control.requests('tasks.checkpoint')[1], { parentCheckpoint: 'p', options: { typeUrl: 'containerd.runc.v1.Options' } });

  const data = { typeUrl: 'io.containerd.cgroups.v2.Metrics', value: Buffer.from('m') };
  fake.tasks.metrics.set('a', { id: 'a', timestamp: { seconds: 5n, nanos: 1 }, data });
  t.same(await client.tasks.metrics(['id==a']), [{ containerId: 'a', timestamp: 5_000_000_001n, data }]);
  t.match(await client.tasks.metrics(), [{ containerId: 'a' }, { containerId: 'b', timestamp: 0n }]);
});

t.test('a task that was never started', async (t) => {
  const { client } = await fixture(t);
  await client.containers.create(container('a'));
  await client.tasks.create(task('a'));
  const exit = client.tasks.wait('a');
  await client.tasks.kill('a', { signal: 9 });
  t.match(await exit, { exitStatus: 137 });
  await client.tasks.delete('a');
  await client.tasks.create(task('a'));
  await client.tasks.delete('a');
  await t.rejects(client.tasks.create(task('none')), { code: status.NOT_FOUND });
});

t.test('a checkpoint to restore, and statuses that this package does not know', async (t) => {
  const { fake, client } = await fixture(t);
  await client.containers.create(container('a'));
  const checkpoint = { mediaType: 'm', digest: 'sha256:1', size: 3n, annotations: { a: 'b' } };
  await client.tasks.create({ ...task('a'), checkpoint });
  t.match(fake.control.requests('tasks.create'), [{ checkpoint }]);
  fake.process(NAMESPACE, 'a').status = Status.PAUSING;
  t.match(await client.tasks.get('a'), { status: 'pausing' });
  fake.process(NAMESPACE, 'a').status = 77 as Status;
  t.match(await client.tasks.get('a'), { status: 'unknown' });
});

t.test('a task whose record is gone is not found, and goes on', async (t) => {
  const { fake, client } = await fixture(t);
  await client.containers.create(container('a'));
  await client.tasks.create(task('a'));
  await client.tasks.start('a');
  const exit = client.tasks.wait('a');
  await until(() => fake.control.requests('tasks.wait').length === 1, 'the wait');
  await client.containers.delete('a');
  const calls = [() => client.tasks.kill('a', { signal: 9 }), () => client.tasks.get('a'), () => client.tasks.wait('a'), () => client.tasks.delete('a'), () => client.tasks.pids('a'), () => client.tasks.pause('a')];
  for (const call of calls) await t.rejects(call() as Promise<unknown>, { code: status.NOT_FOUND });
  t.match(await client.tasks.list(), [{ containerId: 'a', status: 'running' }]);
  await client.containers.create(container('a'));
  await client.tasks.kill('a', { signal: 9 });
  t.match(await exit, { exitStatus: 137 }, 'the wait that was under way was not touched');
  await client.tasks.delete('a');
});

t.test('case L2: the shim is killed', async (t) => {
  const { fake, client } = await fixture(t);
  await client.containers.create(container('a'));
  await client.tasks.create(task('a'));
  await client.tasks.start('a');
  const exit = client.tasks.wait('a').catch((error: unknown) => error);
  await until(() => fake.control.requests('tasks.wait').length === 1, 'the wait');
  fake.tasks.killShim(NAMESPACE, 'a');
  t.ok(isTaskGone(await exit), 'who waits is told that the shim has left');
  t.ok(isNotFound(await client.tasks.get('a').catch((e: unknown) => e)));
  fake.tasks.oom(NAMESPACE, 'a');
  t.match(fake.events.decoded.slice(-3), [
    { topic: '/tasks/exit', exitStatus: 137 },
    { topic: '/tasks/delete', execId: '' },
    { topic: '/tasks/oom', containerId: 'a' },
  ]);
});
