import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import type { CriCallError } from '@criquet/cri-api';
import type { FakeProcess } from '@criquet/runtime-containerd/testing';
import { test, type Test } from 'tap';
import type { CriquetConfig } from '../../src/config/index.js';
import { SpdyClient } from '../streaming/support/spdy-client.js';
import { eventually, Shim } from './shim-harness.js';

type Tables = { [K in 'grpc' | 'image' | 'container' | 'streaming']?: Partial<CriquetConfig[K]> };

async function limited(t: Test, tables: Tables): Promise<Shim> {
  const change = (config: CriquetConfig): CriquetConfig => ({
    ...config,
    grpc: { ...config.grpc, ...tables.grpc },
    image: { ...config.image, ...tables.image },
    container: { ...config.container, ...tables.container },
    streaming: { ...config.streaming, ...tables.streaming },
  });
  const shim = await Shim.start({ change });
  t.teardown(() => shim.close());
  return shim;
}

/** Commands that run until they are told to end, or the test is over. */
function lasting(t: Test, shim: Shim): FakeProcess[] {
  const processes: FakeProcess[] = [];
  t.teardown(() => {
    for (const process of processes) process.exit(0);
  });
  shim.containerd.program = (process) => (process.execId === '' ? undefined : void processes.push(process));
  return processes;
}

const exhausted = (option: string) => ({ code: status.RESOURCE_EXHAUSTED, details: new RegExp(`${option.replace('.', '\\.')} is \\d+`) });
const codes = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((outcome) => (outcome.status === 'fulfilled' ? status.OK : (outcome.reason as CriCallError).code));
const until = (what: () => boolean) =>
  eventually(() => {
    if (!what()) throw new Error('not yet');
  });
/** A stream is answered before it counts. */
const refusedSoon = async (t: Test, call: () => Promise<unknown>, expected: object) => {
  const error = await eventually(async () => {
    const outcome = await call().then(() => undefined, (reason: unknown) => reason);
    if (outcome === undefined) throw new Error('not refused');
    return outcome;
  });
  t.match(error, expected);
};
const execUrl = async (shim: Shim, containerId: string) => (await shim.cri.runtime.exec({ containerId, cmd: ['x'], stdout: true })).url;
const attachUrl = async (shim: Shim, containerId: string) => (await shim.cri.runtime.attach({ containerId, stdout: true })).url;

/** An exec or attach that is under way. */
async function opened(url: string): Promise<SpdyClient> {
  const client = await SpdyClient.connect(url, ['v4.channel.k8s.io']);
  const { stdout } = await client.openTypes('error', 'stdout');
  await until(() => stdout.replied);
  return client;
}

test('container.max_execs_per_container: a flood of ExecSync in one container leaves the other its commands', async (t) => {
  const shim = await limited(t, { container: { maxExecsPerContainer: 3 } });
  const pod = await shim.runPod();
  const [flooded, other] = [await shim.startContainer(pod), await shim.startContainer(pod, { metadata: { name: 'other' } })];
  const processes = lasting(t, shim);
  const flood = Array.from({ length: 50 }, () => shim.cri.runtime.execSync({ containerId: flooded, cmd: ['x'] }));
  flood.forEach((call) => call.catch(() => undefined));
  await until(() => processes.length === 3);
  await t.rejects(shim.cri.runtime.execSync({ containerId: flooded, cmd: ['x'] }), exhausted('container.max_execs_per_container'));
  await t.rejects(execUrl(shim, flooded), exhausted('container.max_execs_per_container'), 'Exec counts with them');
  const elsewhere = shim.cri.runtime.execSync({ containerId: other, cmd: ['x'] });
  await until(() => processes.length === 4);
  t.equal((await shim.cri.runtime.listContainers({})).containers.length, 2, 'other calls are served');
  for (const process of processes) process.exit(0);
  t.equal((await elsewhere).exitCode, 0);
  const answers = await codes(flood);
  t.equal(answers.filter((code) => code === status.OK).length, 3);
  t.equal(answers.filter((code) => code === status.RESOURCE_EXHAUSTED).length, 47);
  shim.containerd.program = (process) => (process.execId === '' ? undefined : process.exit(0));
  t.equal((await eventually(() => shim.cri.runtime.execSync({ containerId: flooded, cmd: ['x'] }))).exitCode, 0, 'afterwards there is room again');
});

test('container.max_execs: of all containers together, also over a stream', async (t) => {
  const shim = await limited(t, { container: { maxExecs: 2 } });
  const pod = await shim.runPod();
  const [one, two] = [await shim.startContainer(pod), await shim.startContainer(pod, { metadata: { name: 'two' } })];
  const processes = lasting(t, shim);
  const late = await execUrl(shim, two);
  const calls = [one, two].map((containerId) => shim.cri.runtime.execSync({ containerId, cmd: ['x'] }));
  await until(() => processes.length === 2);
  await t.rejects(shim.cri.runtime.execSync({ containerId: one, cmd: ['x'] }), exhausted('container.max_execs'));
  const client = await SpdyClient.connect(late, ['v4.channel.k8s.io']);
  const { error } = await client.openTypes('error', 'stdout');
  await client.closed;
  t.match(JSON.parse(error.text), { status: 'Failure', message: /container\.max_execs is 2/ }, 'a URL from before the flood');
  for (const process of processes) process.exit(0);
  t.same(await codes(calls), [status.OK, status.OK]);
});

test('container.exec_sync_output_total: what all commands have written stays within it, and every command ends', async (t) => {
  const mebibyte = 2 ** 20;
  const shim = await limited(t, { container: { execSyncOutputTotal: 4 * mebibyte, execSyncOutputLimit: 3 * mebibyte } });
  const containerId = await shim.startContainer(await shim.runPod());
  let written = 0;
  let end: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (end = resolve));
  shim.containerd.program = async (process) => {
    if (process.execId === '') return;
    await process.stdout(Buffer.alloc(3 * mebibyte));
    if (++written === 4) end();
    await all;
    process.exit(0);
  };
  const answers = await Promise.all(Array.from({ length: 4 }, () => shim.cri.runtime.execSync({ containerId, cmd: ['x'] })));
  t.ok(answers.every(({ exitCode }) => exitCode === 0));
  t.equal(answers.reduce((sum, { stdout }) => sum + stdout.length, 0), 4 * mebibyte);
  written = 3;
  t.equal((await shim.cri.runtime.execSync({ containerId, cmd: ['x'] })).stdout.length, 3 * mebibyte, 'it is given back');
});

test('container.max_attach_clients: one more is refused, and those that are attached go on', async (t) => {
  const shim = await limited(t, { container: { maxAttachClients: 2 } });
  let process: FakeProcess | undefined;
  shim.run((started) => void (process = started));
  const containerId = await shim.startContainer(await shim.runPod());
  const late = await attachUrl(shim, containerId);
  const clients = [await opened(await attachUrl(shim, containerId)), await opened(await attachUrl(shim, containerId))];
  await refusedSoon(t, () => attachUrl(shim, containerId), exhausted('container.max_attach_clients'));
  const client = await SpdyClient.connect(late, ['v4.channel.k8s.io']);
  const { error } = await client.openTypes('error', 'stdout');
  await client.closed;
  t.match(JSON.parse(error.text), { message: /container\.max_attach_clients is 2/ });
  await process?.stdout('to both\n');
  await until(() => clients.every(({ streams }) => [...streams.values()].some(({ text }) => text === 'to both\n')));
  clients[0]?.socket.destroy();
  await eventually(() => attachUrl(shim, containerId));
  t.same(await shim.log(), ['stdout F to both']);
});

test('streaming.max_streams: RESOURCE_EXHAUSTED for the call, 503 for a URL from before, which can be used later', async (t) => {
  const shim = await limited(t, { streaming: { maxStreams: 2 } });
  const containerId = await shim.startContainer(await shim.runPod());
  lasting(t, shim);
  const late = await execUrl(shim, containerId);
  const clients = [await opened(await execUrl(shim, containerId)), await opened(await attachUrl(shim, containerId))];
  await t.rejects(execUrl(shim, containerId), exhausted('streaming.max_streams'));
  await t.rejects(attachUrl(shim, containerId), exhausted('streaming.max_streams'));
  await t.rejects(SpdyClient.connect(late, ['v4.channel.k8s.io']), { message: '503' });
  clients[0]?.socket.destroy();
  const client = await eventually(() => SpdyClient.connect(late, ['v4.channel.k8s.io']));
  client.socket.destroy();
});

test('streaming.max_streams: forwarded connections count, and one too many is told why', async (t) => {
  const shim = await limited(t, { streaming: { maxStreams: 3 } });
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const port = `${(server.address() as { port: number }).port}`;
  const client = await SpdyClient.connect((await shim.cri.runtime.portForward({ podSandboxId: await shim.runPod() })).url, ['portforward.k8s.io']);
  const forward = async (requestid: string) => ({
    error: await client.open({ streamtype: 'error', port, requestid }),
    data: await client.open({ streamtype: 'data', port, requestid }),
  });
  const [first] = [await forward('1'), await forward('2')];
  await until(() => sockets.length === 2);
  const refused = await forward('3');
  await until(() => refused.error.ended);
  t.match(refused.error.text, /streaming\.max_streams is 3/);
  t.equal(first?.data.reset, undefined, 'the others go on');
  client.socket.destroy();
});

test('streaming.token_limit: the message names it', async (t) => {
  const shim = await limited(t, { streaming: { tokenLimit: 1 } });
  const containerId = await shim.startContainer(await shim.runPod());
  await execUrl(shim, containerId);
  await t.rejects(execUrl(shim, containerId), exhausted('streaming.token_limit'));
});

test('connections to the streaming server that say nothing do not keep a client out', async (t) => {
  const shim = await limited(t, {});
  const containerId = await shim.startContainer(await shim.runPod());
  lasting(t, shim);
  const { port } = JSON.parse((await shim.cri.runtime.status({ verbose: true })).info.streaming ?? '{}') as { port: number };
  const busy = await opened(await execUrl(shim, containerId));
  let closed = 0;
  const silent = Array.from({ length: 400 }, () => connect({ host: '127.0.0.1', port }).on('error', () => undefined).on('close', () => (closed += 1)));
  t.teardown(() => silent.forEach((socket) => socket.destroy()));
  await until(() => closed >= 400 - 256);
  t.notOk(busy.socket.destroyed, 'a stream under way is none of them');
  const client = await opened(await execUrl(shim, containerId));
  t.equal(client.protocol, 'v4.channel.k8s.io');
  client.socket.destroy();
  busy.socket.destroy();
});

test('grpc.max_event_streams: one reader more is refused, and gets in when another has gone', async (t) => {
  const shim = await limited(t, { grpc: { maxEventStreams: 2 } });
  const open = () => {
    const cancelled = new AbortController();
    const first = shim.cri.runtime.getContainerEvents({}, { signal: cancelled.signal })[Symbol.asyncIterator]().next();
    first.catch(() => undefined);
    return { first, cancel: () => cancelled.abort() };
  };
  const readers = [open(), open()];
  await shim.cri.runtime.version({});
  await t.rejects(open().first, exhausted('grpc.max_event_streams'));
  await shim.runPod();
  for (const { first } of readers) t.match(await first, { value: { containerEventType: 0 } }, 'the two that are in have their events');
  for (const { cancel } of readers) cancel();
  const next = await eventually(async () => {
    const reader = open();
    await shim.cri.runtime.version({});
    const early = await Promise.race([reader.first.then(() => undefined, (error: unknown) => error), new Promise((resolve) => setTimeout(resolve, 50))]);
    if (early !== undefined) throw early;
    return reader;
  });
  next.cancel();
});

test('grpc.max_message_size: a larger request and a larger reply; the Stream* call has all of it', async (t) => {
  const shim = await limited(t, { grpc: { maxMessageSize: 4 * 2 ** 20 } });
  const { runtime } = shim.cri;
  const annotations = { large: 'x'.repeat(200_000) };
  await t.rejects(runtime.runPodSandbox({ config: shim.sandboxConfig({ annotations: { large: 'x'.repeat(5 * 2 ** 20) } }) }), {
    code: status.RESOURCE_EXHAUSTED,
    details: /larger than max/,
  });
  for (let index = 0; index < 25; index++) await shim.runPod({ metadata: { name: `pod-${index}`, namespace: 'ns', uid: `${index}`, attempt: 0 }, annotations });
  await t.rejects(runtime.listPodSandbox({}), exhausted('grpc.max_message_size'));
  let streamed = 0;
  for await (const { podSandboxes } of runtime.streamPodSandboxes({})) streamed += podSandboxes.length;
  t.equal(streamed, 25);
});

test('image.max_pulls: pulls that wait are bounded, and a cancelled one leaves its place', async (t) => {
  const shim = await limited(t, { image: { maxParallelPulls: 1, maxPulls: 3 } });
  shim.containerd.registry.set('a.test/a:1', { image: shim.image, stall: 'downloading' });
  shim.containerd.registry.set('a.test/b:1', { image: shim.image });
  const pull = (image: string, signal?: AbortSignal) => {
    const call = shim.cri.image.pullImage({ image: { image } }, signal === undefined ? {} : { signal });
    call.catch(() => undefined);
    return call;
  };
  const first = pull('a.test/a:1');
  await until(() => shim.containerd.control.requests('transfer.transfer').length === 1);
  const abort = new AbortController();
  const [second, cancelled] = [pull('a.test/b:1'), pull('a.test/b:1', abort.signal)];
  await shim.cri.runtime.version({});
  await t.rejects(pull('a.test/b:1'), exhausted('image.max_pulls'));
  t.equal((await shim.cri.image.listImages({})).images.length, 1, 'other calls are served');
  abort.abort();
  await t.rejects(cancelled, { code: status.CANCELLED });
  const third = await eventually(async () => {
    const call = pull('a.test/b:1');
    const refused = await Promise.race([call.then(() => undefined, (error: unknown) => error), new Promise((resolve) => setTimeout(resolve, 50))]);
    if (refused !== undefined) throw refused;
    return { call };
  });
  shim.containerd.registry.release();
  t.same(await codes([first, second, third.call]), [status.OK, status.OK, status.OK]);
});
