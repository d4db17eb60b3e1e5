import { readFileSync, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { connectContainerd, decodeSpec, encodeProcess, isNotFound, resolveImage, TaskIo } from '../../src/index.js';
import { FakeContainerd, FakeStatus, fakeImage } from '../../src/testing/index.js';
import { collect, container, fixture, NAMESPACE, sleep, until } from '../support/fixture.js';

const process = { user: { uid: 0, gid: 0 }, args: ['cat'], cwd: '/' };

t.test('failpoints', async (t) => {
  const { fake, client } = await fixture(t);
  const failed = { code: status.INTERNAL, details: 'boom' };
  const remove = fake.control.fail('containers.create', { ...failed, skip: 1, times: 2, when: ({ request }) => (request as { container: { id: string } }).container.id !== 'free' });
  await client.containers.create(container('a'));
  await t.rejects(client.containers.create(container('b')), failed);
  await client.containers.create(container('free'));
  await t.rejects(client.containers.create(container('b')), failed);
  await client.containers.create(container('b'));
  remove();

  const lost = fake.control.fail('containers.delete', { afterwards: true });
  await t.rejects(client.containers.delete('a'), { code: status.UNKNOWN, details: 'failpoint' });
  lost();
  t.ok(isNotFound(await client.containers.get('a').catch((e: unknown) => e)), 'the work was done, the answer lost');

  fake.control.fail('containers.listStream');
  await t.rejects(collect(client.containers.stream()), { code: status.UNKNOWN });
});

t.test('delays and hangs', async (t) => {
  const { fake, client } = await fixture(t);
  const undelay = fake.control.delay('version.version', 60);
  let started = Date.now();
  await client.version.get();
  t.ok(Date.now() - started >= 55);
  undelay();
  const never = fake.control.delay('version.version', 10_000, () => false);
  started = Date.now();
  await client.version.get();
  t.ok(Date.now() - started < 1000);
  never();

  await client.containers.create(container('a'));
  const release = fake.control.hang('containers.get', ({ request }) => (request as { id: string }).id === 'a');
  const hung = client.containers.get('a');
  t.ok(isNotFound(await client.containers.get('b').catch((e: unknown) => e)), 'other calls go on');
  release();
  t.match(await hung, { id: 'a' });
});

t.test('a fault of the fake itself is told apart', async (t) => {
  const { fake, client } = await fixture(t);
  fake.state(NAMESPACE).containers.set('x', undefined as never);
  await t.rejects(client.containers.list(['id==x']), { code: status.INTERNAL, details: /^fake containerd: TypeError/ });
});

t.test('programs: output, standard input, signals, exit', async (t) => {
  const { fake, client } = await fixture(t, {
    program: async (process) => {
      if (process.execId === '') {
        await process.stdout(`args ${process.args.join(' ')}\n`);
        await process.stderr('complaint\n');
        process.onSignal((signal) => void process.stdout(`signal ${signal}\n`).then(() => process.exit(3)));
        return;
      }
      for await (const chunk of process.stdin()) await process.stdout(chunk);
      process.exit(process.init.terminal ? 5 : 6);
    },
  });
  const root = t.testdir();
  await client.containers.create(container('a'));
  const io = await TaskIo.create(join(root, 'a'), { stdin: false, terminal: false });
  const out: string[] = [];
  const sink = { data: (chunk: Buffer) => void out.push(chunk.toString()), end: () => undefined };
  const readers = [io.openOutput('stdout', sink), io.openOutput('stderr', sink)];
  await client.tasks.create({ containerId: 'a', rootfs: [], ...io.paths, terminal: false });
  await client.tasks.start('a');
  await until(() => out.length === 2, 'the output');

  for (const terminal of [true, false]) {
    const execIo = await TaskIo.create(join(root, `exec-${terminal}`), { stdin: true, terminal });
    const text: string[] = [];
    const reader = execIo.openOutput('stdout', { data: (chunk) => void text.push(chunk.toString()), end: () => undefined });
    if (!terminal) execIo.openOutput('stderr', sink);
    const execId = `e-${terminal}`;
    await client.tasks.exec({ containerId: 'a', execId, spec: encodeProcess(process), ...execIo.paths, terminal });
    const stdin = execIo.openStdin();
    await client.tasks.start('a', execId);
    const exit = client.tasks.wait('a', execId);
    stdin.write('hello');
    await until(() => text.join('') === 'hello', 'the echo');
    stdin.end();
    await sleep(30);
    t.match(await client.tasks.get('a', execId), { status: 'running' }, 'the shim holds a write end too');
    await client.tasks.closeIo('a', execId);
    t.match(await exit, { exitStatus: terminal ? 5 : 6 });
    await reader.ended;
    await client.tasks.deleteProcess('a', execId);
  }

  const exit = client.tasks.wait('a');
  await client.tasks.kill('a', { signal: 15 });
  t.match(await exit, { exitStatus: 3 });
  await Promise.all(readers.map(({ ended }) => ended));
  t.same(out.sort(), ['args sleep 1\n', 'complaint\n', 'signal 15\n']);
  t.same(fake.process(NAMESPACE, 'a').signals, [15]);
  t.same(decodeSpec(fake.process(NAMESPACE, 'a').init.spec).ociVersion, '1.2.0');
  fake.process(NAMESPACE, 'a').exit(9);
  t.equal(fake.process(NAMESPACE, 'a').exitStatus, 3, 'a process ends once');
});

t.test('a program that fails, one without FIFOs, one whose FIFOs are missing', async (t) => {
  const { fake, client } = await fixture(t);
  fake.program = async (process) => {
    await process.stdout('nowhere');
    for await (const chunk of process.stdin()) t.fail(chunk.toString());
    throw new Error('segfault');
  };
  await client.containers.create(container('a'));
  const none = { rootfs: [], stdin: '', stdout: '', stderr: '', terminal: false };
  await client.tasks.create({ containerId: 'a', ...none });
  await client.tasks.start('a');
  t.match(await client.tasks.wait('a'), { exitStatus: 255 });
  await client.tasks.delete('a');
  await t.rejects(client.tasks.create({ containerId: 'a', ...none, stdout: '/nonexistent/1', stderr: '/nonexistent/2' }), {
    code: status.UNKNOWN,
    details: /opening fifo: ENOENT/,
  });
  await t.rejects(client.tasks.create({ containerId: 'a', ...none, stdout: '/x' }), { code: status.INVALID_ARGUMENT });
  await client.tasks.create({ containerId: 'a', ...none });
  const exec = { containerId: 'a', spec: encodeProcess(process), ...none };
  await t.rejects(client.tasks.exec({ ...exec, execId: '' }), { code: status.INVALID_ARGUMENT });
});

t.test('a killed shim loses what nobody read', async (t) => {
  const { fake, client } = await fixture(t, { program: (process) => process.stdout(Buffer.alloc(1024 * 1024)) });
  await client.containers.create(container('a'));
  const io = await TaskIo.create(join(t.testdir(), 'io'), { stdin: false, terminal: true });
  const reader = io.openOutput('stdout', { data: () => new Promise(() => undefined), end: () => undefined });
  await client.tasks.create({ containerId: 'a', rootfs: [], ...io.paths, terminal: true });
  await client.tasks.start('a');
  reader.close();
  const exec = { containerId: 'a', execId: 'e', spec: encodeProcess(process), stdin: '', stdout: '', stderr: '', terminal: false };
  await client.tasks.exec(exec);
  fake.tasks.killShim(NAMESPACE, 'a');
  let ended = false;
  await io.openOutput('stdout', { data: () => undefined, end: () => void (ended = true) }, { expectWriter: false }).ended;
  t.ok(ended);
});

t.test('as the shim, a task waits for a reader of its outputs', async (t) => {
  const { fake, client } = await fixture(t);
  await client.containers.create(container('a'));
  const io = await TaskIo.create(join(t.testdir(), 'io'), { stdin: true, terminal: false });
  const task = { containerId: 'a', rootfs: [], ...io.paths, terminal: false };
  await t.rejects(client.tasks.create(task, { timeoutMs: 50 }), { code: status.DEADLINE_EXCEEDED });
  t.equal(fake.state(NAMESPACE).tasks.size, 0);
  const created = client.tasks.create(task);
  await sleep(30);
  const sink = { data: () => undefined, end: () => undefined };
  io.openOutput('stdout', sink);
  io.openOutput('stderr', sink);
  await created;
  await client.tasks.delete('a');
});

t.test('garbage collection: what nothing holds goes', async (t) => {
  const { fake, client } = await fixture(t);
  const image = fakeImage({ index: true, files: { 'etc/group': 'g:x:1:\n' } });
  fake.addImage(NAMESPACE, 'a:1', image, { labels: { l: '1' } });
  t.match(await client.images.get('a:1'), { labels: { l: '1' }, target: { digest: image.target.digest } });
  await client.leases.create({ id: 'l' });
  const [mount] = await client.snapshots.prepare('overlayfs', 'rw', image.chainId, { lease: 'l' });
  t.equal(readFileSync(join(mount?.source ?? '', 'etc/group'), 'utf8'), 'g:x:1:\n');
  t.match(await client.snapshots.usage('overlayfs', 'rw'), { size: 7n, inodes: 3n });
  await client.content.write({ ref: 'loose', data: Buffer.from('loose') });
  const { digest: rooted } = await client.content.write({ ref: 'rooted', data: Buffer.from('rooted'), labels: { 'containerd.io/gc.root': '1' } });
  await client.snapshots.prepare('overlayfs', 'rooted', '', { labels: { 'containerd.io/gc.root': '1' } });
  await client.snapshots.prepare('overlayfs', 'loose', '');
  await client.leases.addResource('l', { id: 'sha256:gone', type: 'content' });
  await client.leases.addResource('l', { id: 'ref', type: 'ingests' });

  await client.images.delete('a:1');
  const digests = async () => (await collect(client.content.list())).map(({ digest }) => digest);
  const keys = async () => (await collect(client.snapshots.list('overlayfs'))).map(({ name }) => name).sort();
  t.same(await digests(), [rooted], 'the image and the loose blob are gone');
  t.same(await keys(), [image.chainId, 'rooted', 'rw'].sort(), 'the lease holds a snapshot and with it the parent');
  await client.containers.create(container('c', { snapshotter: 'overlayfs', snapshotKey: 'rw' }));
  await client.leases.delete('l');
  t.same(await keys(), [image.chainId, 'rooted', 'rw'].sort(), 'the container holds it now');
  await client.containers.delete('c');
  t.same(await keys(), ['rooted']);
  t.notOk(existsSync(mount?.source ?? ''), 'the files too');
  fake.collectGarbage(NAMESPACE);
});

t.test('images of the fake resolve', async (t) => {
  const { fake, client } = await fixture(t);
  const image = fakeImage({ index: true, config: { User: '1000', Env: ['A=b'] } });
  t.same(fakeImage({ index: true, config: { User: '1000', Env: ['A=b'] } }).target, image.target, 'equal options, equal digests');
  fake.addImage(NAMESPACE, 'a:1', image, { snapshotter: 'native' });
  fake.addImage(NAMESPACE, 'b:1', image, { snapshotter: 'native' });
  const { target } = await client.images.get('a:1');
  const platform = { os: 'linux', architecture: 'amd64', variant: '' };
  t.match(await resolveImage(client.content, target, platform), {
    configDigest: image.id,
    manifestDigest: image.manifestDigest,
    config: { config: { User: '1000', Env: ['A=b'] } },
  });
  t.match(await client.snapshots.stat('native', image.chainId), { kind: 'committed' });
});

t.test('a directory of the caller', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'own-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const fake = await FakeContainerd.start({ dir });
  const client = connectContainerd({ address: fake.address, namespace: 'n' });
  await client.snapshots.prepare('native', 'k', '');
  client.close();
  await fake.close();
  t.ok(existsSync(dir));
  t.notOk(existsSync(join(dir, 'snapshots')));
  await t.rejects(FakeContainerd.start({ dir: '/nonexistent' }));
  t.throws(() => fake.task('n', 'none'), FakeStatus);
});

t.test('snapshot rules', async (t) => {
  const { client } = await fixture(t);
  await client.snapshots.prepare('native', 'active', '');
  await t.rejects(client.snapshots.prepare('native', 'child', 'active'), { code: status.INVALID_ARGUMENT }, 'a parent is committed');
  await client.snapshots.view('native', 'view', '');
  await t.rejects(client.snapshots.commit('native', 'c', 'view'), { code: status.FAILED_PRECONDITION });
  await client.snapshots.commit('native', 'c', 'active');
  await client.snapshots.prepare('native', 'active', 'c');
  await t.rejects(client.snapshots.commit('native', 'c', 'active'), { code: status.ALREADY_EXISTS });
  await t.rejects(client.snapshots.mounts('native', 'c'), { code: status.INVALID_ARGUMENT });
});

t.test('requests that this package does not make', async (t) => {
  const { fake, client } = await fixture(t);
  const any = { typeUrl: 'x', value: Buffer.alloc(0) };
  await t.rejects(client.transfer.transfer(any, any), { code: status.UNIMPLEMENTED });
  await t.rejects(client.transfer.transfer({ ...any, typeUrl: 'containerd.types.transfer.OCIRegistry' }, any, { progressStream: 'none' }), { code: status.UNIMPLEMENTED });
  await client.containers.create(container('a', { labels: { a: '1' } }));
  t.same((await client.containers.update({ id: 'a', labels: { b: '2', c: '3' } }, ['labels', 'labels.c'])).labels, { b: '2', c: '3' });
  t.match(fake.control.calls.at(-1), { name: 'containers.update' });
});
