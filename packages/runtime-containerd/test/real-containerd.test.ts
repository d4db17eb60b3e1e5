import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import {
  checkContainerd,
  connectContainerd,
  decodeEvent,
  encodeProcess,
  encodeResources,
  encodeSpec,
  isCancelled,
  isNotFound,
  isTaskGone,
  isUnavailable,
  mediaTypes,
  resolveImage,
  TaskIo,
  type Containerd,
  type ContainerdEvent,
  type PullRequest,
  type RuntimeSpec,
} from '../src/index.js';
import { fakeImage, type FakeImage } from '../src/testing/index.js';
import { collect, sleep, until } from './support/fixture.js';
import { RealContainerd, skipReal } from './support/real-containerd.js';
import { shellRootfs } from './support/tar.js';
import { TinyRegistry } from './support/tiny-registry.js';

const SNAPSHOTTER = 'overlayfs';
const platform = { os: 'linux', architecture: process.arch === 'arm64' ? 'arm64' : 'amd64' };

interface World {
  readonly real: RealContainerd;
  readonly client: Containerd;
  readonly registry: TinyRegistry;
  readonly image: FakeImage;
  readonly io: (name: string, stdin?: boolean) => Promise<TaskIo>;
}

function spec(args: string[]): RuntimeSpec {
  return {
    ociVersion: '1.2.0',
    process: { user: { uid: 0, gid: 0 }, args, env: ['PATH=/bin'], cwd: '/', rlimits: [{ type: 'RLIMIT_CORE', hard: 2n ** 64n - 1n, soft: 0 }] },
    root: { path: 'rootfs' },
    mounts: [{ destination: '/proc', type: 'proc', source: 'proc' }],
    linux: { cgroupsPath: `/rc-test-${process.pid}`, namespaces: (['pid', 'mount', 'ipc', 'uts', 'network'] as const).map((type) => ({ type })) },
  };
}

async function container(t: Test, { client, image, io }: World, id: string, args: string[]) {
  // The record first: a snapshot that nobody names is garbage, and a collection may be under way.
  await client.containers.create({ id, runtime: { name: 'io.containerd.runc.v2' }, spec: encodeSpec(spec(args)), snapshotter: SNAPSHOTTER, snapshotKey: id });
  const rootfs = await client.snapshots.prepare(SNAPSHOTTER, id, image.chainId);
  const taskIo = await io(id);
  const out = { stdout: '', stderr: '' };
  const readers = (['stdout', 'stderr'] as const).map((stream) =>
    taskIo.openOutput(stream, { data: (chunk) => void (out[stream] += chunk.toString()), end: () => undefined }),
  );
  await client.tasks.create({ containerId: id, rootfs, ...taskIo.paths, terminal: false });
  t.teardown(async () => {
    await client.tasks.kill(id, { signal: 9 }).catch(() => undefined);
    await client.tasks.delete(id).catch(() => undefined);
    for (const reader of readers) reader.close();
    await client.containers.delete(id).catch(() => undefined);
    await client.snapshots.remove(SNAPSHOTTER, id).catch(() => undefined);
  });
  return { out, readers };
}

t.test('a real containerd', { skip: skipReal }, async (t) => {
  const real = await RealContainerd.start();
  const registry = await new TinyRegistry().start();
  const client = connectContainerd({ address: real.address, namespace: 'test', defaultTimeoutMs: 20_000 });
  const dir = t.testdir();
  t.teardown(async () => {
    client.close();
    await registry.close();
    await real.close();
  });
  const image = fakeImage({ layer: shellRootfs(), index: true, platform, config: { Cmd: ['/bin/sh'], Env: ['PATH=/bin'] } });
  registry.set('library/shell:1', image);
  await real.mirror('docker.io', registry.host);
  await client.leases.create({ id: 'test' });
  const io = (name: string, stdin = false) => TaskIo.create(join(dir, name), { stdin, terminal: false });
  const world: World = { real, client, registry, image, io };
  const pull = (more: Partial<PullRequest> = {}, signal?: AbortSignal) =>
    client.transfer.pullImage(
      { reference: 'docker.io/library/shell:1', snapshotter: SNAPSHOTTER, hostDir: real.hostsDir, lease: 'test', ...more },
      signal === undefined ? {} : { signal },
    );

  await t.test('it can serve', async (t) => {
    const report = await checkContainerd(client, { snapshotter: SNAPSHOTTER });
    t.match(report, { criPlugin: 'absent', rootDir: join(real.dir, 'root'), snapshotter: { root: /overlayfs$/ } });
    await t.rejects(checkContainerd(client, { snapshotter: 'none' }), { name: 'ContainerdUnusable' });
  });

  await t.test('an image without a registry, written blob by blob', async (t) => {
    const tiny = fakeImage({ files: { written: 'by hand' } });
    for (const { data, digest, labels } of tiny.blobs) {
      await client.content.write({ ref: digest, data, expected: digest, total: data.length, labels }, { lease: 'test' });
    }
    await client.images.create({ name: 'written:1', target: tiny.target });
    const { target } = await client.images.get('written:1');
    t.equal(target.mediaType, mediaTypes.ociManifest);
    t.equal((await resolveImage(client.content, target)).configDigest, tiny.id);
    await client.images.delete('written:1', { sync: true });
  });

  await t.test('every kind of event that is decoded has the type URL that containerd gives it', async (t) => {
    const seen: string[] = [];
    const abort = new AbortController();
    const following = (async () => {
      for await (const envelope of client.events.subscribe(['namespace==events'], { signal: abort.signal })) {
        const event = decodeEvent(envelope);
        seen.push(event.topic === '' ? `not decoded: ${event.otherTopic} ${event.event.typeUrl}` : event.topic);
      }
    })().catch(() => undefined);
    await sleep(100);
    const options = { namespace: 'events' };
    const target = { mediaType: 'm', digest: `sha256:${'1'.repeat(64)}`, size: 1n, annotations: {} };
    await client.images.create({ name: 'i', target }, options);
    await client.images.update({ name: 'i', target, labels: { a: '1' } }, ['labels'], options);
    await client.images.delete('i', options);
    await client.containers.create({ id: 'c', runtime: { name: 'io.containerd.runc.v2' }, spec: encodeSpec(spec([])) }, options);
    await client.containers.update({ id: 'c', labels: { a: '1' } }, ['labels'], options);
    await client.containers.delete('c', options);
    await until(() => seen.length >= 6, 'the events').catch(() => undefined);
    abort.abort();
    await following;
    t.same(seen, ['/images/create', '/images/update', '/images/delete', '/containers/create', '/containers/update', '/containers/delete']);
  });

  await t.test('a pull through a mirror', async (t) => {
    const events: string[] = [];
    await pull({ onProgress: ({ event }) => events.push(event.replace(/ .*/, '')), labels: { l: '1' } });
    const { target, labels } = await client.images.get('docker.io/library/shell:1');
    t.equal(target.digest, image.target.digest);
    t.match(labels, { l: '1' });
    const resolved = await resolveImage(client.content, target);
    t.equal(resolved.chainId, image.chainId);
    t.match(await client.snapshots.stat(SNAPSHOTTER, image.chainId), { kind: 'committed' });
    t.ok(events.includes('saved') && events.includes('Completed'), events.join(' '));
  });

  await t.test('credentials by the auth stream', async (t) => {
    registry.basic = 'user:secret';
    registry.set('library/private:1', fakeImage({ layer: Buffer.alloc(1024), platform }));
    const reference = 'docker.io/library/private:1';
    await t.rejects(pull({ reference }), { code: status.UNKNOWN, details: /401/ });
    await t.rejects(pull({ reference, credentials: () => Promise.reject(new Error('vault is sealed')) }), new Error('vault is sealed'));
    const asked = new Set<string>();
    const credentials = (host: string) => {
      asked.add(host);
      return { kind: 'password', username: 'user', password: 'secret' } as const;
    };
    await pull({ reference, credentials });
    t.same([...asked], [registry.host]);
    registry.basic = undefined;
    t.match(await client.images.get(reference), { name: reference });
  });

  await t.test('an index without the platform ends well and is found out', async (t) => {
    registry.set('library/other:1', fakeImage({ index: true, platform: { os: 'linux', architecture: 's390x' } }));
    await pull({ reference: 'docker.io/library/other:1' });
    const { target } = await client.images.get('docker.io/library/other:1');
    await t.rejects(resolveImage(client.content, target), { name: 'PlatformMissing' });
  });

  await t.test('case I2: a layer that stops coming; a registry that never answers; cancel', async (t) => {
    const slow = fakeImage({ layer: Buffer.alloc(4096), platform });
    registry.set('library/slow:1', slow);
    registry.hangBlob = slow.blobs[0]?.digest;
    const reference = 'docker.io/library/slow:1';
    await t.rejects(pull({ reference, noProgressTimeoutMs: 800 }), { name: 'PullStalled', awaited: [/^layer-sha256:/] });
    const abort = new AbortController();
    const cancelled = pull({ reference }, abort.signal).catch((e: unknown) => e);
    await sleep(400);
    const started = Date.now();
    abort.abort();
    t.ok(isCancelled(await cancelled));
    t.ok(Date.now() - started < 1000);
    registry.hangBlob = undefined;
    registry.hangAll = true;
    await t.rejects(pull({ reference, noProgressTimeoutMs: 800 }), { name: 'PullStalled', awaited: ['resolve'] });
    registry.hangAll = false;
    await pull({ reference, noProgressTimeoutMs: 5000 });
  });

  await t.test('a container: output to the last byte, exit, events', async (t) => {
    const events: ContainerdEvent[] = [];
    const abort = new AbortController();
    const following = (async () => {
      for await (const envelope of client.events.subscribe(['namespace==test'], { signal: abort.signal })) events.push(decodeEvent(envelope));
    })().catch(() => undefined);
    await sleep(100);
    const script = 'i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo done >&2; exit 7';
    const { out, readers } = await container(t, world, 'run', ['/bin/sh', '-c', script]);
    t.match(await client.tasks.get('run'), { status: 'created' });
    const exit = client.tasks.wait('run');
    const pid = await client.tasks.start('run');
    t.match(await exit, { exitStatus: 7 });
    await Promise.all(readers.map(({ ended }) => ended));
    const expected = Array.from({ length: 20000 }, (_, i) => `line ${i}\n`).join('');
    t.equal(createHash('sha256').update(out.stdout).digest('hex'), createHash('sha256').update(expected).digest('hex'));
    t.equal(out.stderr, 'done\n');
    t.match(await client.tasks.get('run'), { status: 'stopped', exitStatus: 7 });
    t.match(await client.tasks.delete('run'), { pid, exitStatus: 7 });
    t.ok(isTaskGone(await client.tasks.delete('run').catch((e: unknown) => e)));
    // The delete event comes from the shim as it leaves: it trails the call, and 2.1 may lose it.
    await until(() => events.some(({ topic }) => topic === '/tasks/delete'), 'the last event').catch(() => undefined);
    abort.abort();
    await following;
    const own = events.filter((event) => 'containerId' in event && event.containerId === 'run');
    t.match(own.slice(0, 3), [
      { topic: '/tasks/create', pid },
      { topic: '/tasks/start', pid },
      { topic: '/tasks/exit', execId: '', pid, exitStatus: 7 },
    ]);
    if (own.length > 3) t.match(own[3], { topic: '/tasks/delete', execId: '', exitStatus: 7 });
  });

  await t.test('exec with standard input, update, pause, signals', async (t) => {
    const topics: string[] = [];
    const abort = new AbortController();
    const following = (async () => {
      for await (const envelope of client.events.subscribe(['namespace==test,topic~=|^/tasks/|'], { signal: abort.signal })) {
        const event = decodeEvent(envelope);
        topics.push(event.topic === '' ? `not decoded: ${event.otherTopic}` : 'execId' in event ? `${event.topic} ${event.execId}` : event.topic);
      }
    })().catch(() => undefined);
    await sleep(100);
    await container(t, world, 'long', ['/bin/sh', '-c', 'trap "exit 5" TERM; while :; do sleep 0.05; done']);
    await client.tasks.start('long');
    const execIo = await io('exec', true);
    let text = '';
    const reader = execIo.openOutput('stdout', { data: (chunk) => void (text += chunk.toString()), end: () => undefined });
    // The shim waits for a reader of each.
    execIo.openOutput('stderr', { data: () => undefined, end: () => undefined });
    const stdin = execIo.openStdin();
    const process = { user: { uid: 0, gid: 0 }, args: ['/bin/cat'], env: ['PATH=/bin'], cwd: '/' };
    await client.tasks.exec({ containerId: 'long', execId: 'cat', spec: encodeProcess(process), ...execIo.paths, terminal: false });
    const exit = client.tasks.wait('long', 'cat');
    await client.tasks.start('long', 'cat');
    const data = 'x'.repeat(200_000);
    stdin.end(data);
    await until(() => text.length === data.length, 'the echo');
    t.ok((await client.tasks.pids('long')).length >= 2);
    await client.tasks.closeIo('long', 'cat');
    t.match(await exit, { exitStatus: 0 });
    await reader.ended;
    t.match(await client.tasks.deleteProcess('long', 'cat'), { exitStatus: 0 });

    await client.tasks.update({ containerId: 'long', resources: encodeResources({ cpu: { shares: 512 } }) });
    await client.tasks.pause('long');
    t.match((await client.tasks.list()).find(({ containerId }) => containerId === 'long'), { status: 'paused' });
    await client.tasks.resume('long');
    const metrics = await client.tasks.metrics(['id==long']);
    t.match(metrics, [{ containerId: 'long', data: { typeUrl: /^io\.containerd\.cgroups\.v[12]\.Metrics$/ } }]);
    const ended = client.tasks.wait('long');
    await client.tasks.kill('long', { signal: 15 });
    t.match(await ended, { exitStatus: 5 });
    t.ok(isNotFound(await client.tasks.kill('long', { signal: 9 }).catch((e: unknown) => e)));
    await until(() => topics.includes('/tasks/exit '), 'the last event').catch(() => undefined);
    abort.abort();
    await following;
    t.same(topics, [
      '/tasks/create',
      '/tasks/start',
      '/tasks/exec-added cat',
      '/tasks/exec-started cat',
      '/tasks/exit cat',
      '/tasks/paused',
      '/tasks/resumed',
      '/tasks/exit ',
    ]);
  });

  await t.test('a call ends with DEADLINE_EXCEEDED, whichever side is the first to end it', async (t) => {
    const codes = new Set<unknown>();
    const late = async (timeoutMs: number) => {
      await collect(client.events.subscribe([], { timeoutMs })).catch((e: unknown) => codes.add((e as { code?: unknown }).code));
    };
    for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 10 }, (_, i) => late(20 + i)));
    t.same([...codes], [status.DEADLINE_EXCEEDED]);
  });

  await t.test('containerd is killed and comes back: streams fail, the container and its output live on', async (t) => {
    const { out } = await container(t, world, 'survivor', ['/bin/sh', '-c', 'i=0; while :; do echo $i; i=$((i+1)); sleep 0.01; done']);
    await client.tasks.start('survivor');
    const events = (async () => {
      for await (const _ of client.events.subscribe()) void _;
    })().catch((e: unknown) => e);
    const waiting = client.tasks.wait('survivor').catch((e: unknown) => e);
    await until(() => out.stdout.length > 0, 'output');
    await real.kill('SIGKILL');
    t.ok(isUnavailable(await events));
    t.ok(isUnavailable(await waiting));
    t.ok(isUnavailable(await client.tasks.get('survivor').catch((e: unknown) => e)));
    const before = out.stdout.length;
    await sleep(100);
    t.ok(out.stdout.length > before, 'output goes on without containerd');
    await real.run();
    let found;
    for (let i = 0; i < 50 && found === undefined; i++) found = await client.tasks.get('survivor').catch(() => sleep(100));
    t.match(found, { status: 'running' });
    await client.tasks.kill('survivor', { signal: 9 });
    t.match(await client.tasks.wait('survivor'), { exitStatus: 137 });
    const lines = out.stdout.trimEnd().split('\n').map(Number);
    t.ok(lines.every((line, i) => line === i), 'every line, in order');
  });

  await t.test('the example of the README', async (t) => {
    const example = new URL('../../../../examples/containerd-run.mjs', import.meta.url).pathname;
    const options = ['--address', real.address, '--namespace', 'test', '--hosts-dir', real.hostsDir];
    const run = (...args: string[]) =>
      new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
        execFile(process.execPath, [example, ...options, ...args], (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
      });
    t.match(await run('docker.io/library/shell:1', '--', '/bin/sh', '-c', 'echo out; echo err >&2; exit 4'), {
      code: 4,
      stdout: 'out\n',
      stderr: /pulled docker.io\/library\/shell:1 in \d+ ms\nerr\nexit status 4\n$/,
    });
    t.match(await run('docker.io/library/none:1'), { code: 1, stderr: /none:1: not found/ });
    t.match(await run(), { code: 2, stderr: /^usage:/ });
    t.same((await client.leases.list()).map(({ id }) => id), ['test'], 'it leaves no lease');
  });

  await t.test('nothing of it stays', async (t) => {
    t.same(await client.containers.list(), []);
    t.same((await client.tasks.list()).length, 0);
    await client.leases.delete('test', { sync: true });
    for (const { name } of await client.images.list()) await client.images.delete(name, { sync: true });
    t.ok(isNotFound(await client.snapshots.stat(SNAPSHOTTER, image.chainId).catch((e: unknown) => e)));
    t.notOk(existsSync(`/sys/fs/cgroup/memory/rc-test-${process.pid}`));
  });
});
