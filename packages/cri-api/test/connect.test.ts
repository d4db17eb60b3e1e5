import { Server, ServerCredentials, status, type ServiceError } from '@grpc/grpc-js';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http2';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import {
  connectCri,
  ContainerEventType,
  CriCallError,
  ImageServiceService,
  ListContainersResponse,
  RuntimeServiceService,
  type GetEventsRequest,
  type ImageServiceServer,
  type ListContainersRequest,
  type RuntimeServiceServer,
} from '../src/index.js';

interface TestServer {
  readonly endpoint: string;
  close(): Promise<void>;
}

type Tap = { teardown(fn: () => unknown): void };

async function serve(t: Tap, runtime: Partial<RuntimeServiceServer>, image: Partial<ImageServiceServer> = {}): Promise<TestServer> {
  const dir = mkdtempSync(join(tmpdir(), 'cri-api-'));
  const server = new Server({ 'grpc.max_receive_message_length': 32 * 1024 * 1024, 'grpc.max_send_message_length': 32 * 1024 * 1024 });
  server.addService(RuntimeServiceService, runtime as RuntimeServiceServer);
  server.addService(ImageServiceService, image as ImageServiceServer);
  const endpoint = `unix://${join(dir, 'cri.sock')}`;
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(endpoint, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve())),
  );
  const close = async () => server.forceShutdown();
  t.teardown(async () => {
    await close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { endpoint, close };
}

async function failure(promise: Promise<unknown>): Promise<CriCallError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof CriCallError) return error;
  throw new Error(`expected a CriCallError, got ${String(error)}`);
}

await t.test('a unary call: fields that are left out have their default', async (t) => {
  let received: ListContainersRequest | undefined;
  const { endpoint } = await serve(t, {
    listContainers: (call, callback) => {
      received = call.request;
      callback(null, ListContainersResponse.fromPartial({ containers: [{ id: 'c1', createdAt: 1_700_000_000_123_456_789n }] }));
    },
  });
  using cri = connectCri({ endpoint });
  const { containers } = await cri.runtime.listContainers({ filter: { labelSelector: { a: 'b' } } });
  t.equal(containers[0]?.createdAt, 1_700_000_000_123_456_789n, 'nanoseconds are kept');
  t.match(received?.filter, { id: '', podSandboxId: '', labelSelector: { a: 'b' } });
  t.equal(received?.filter?.state, undefined);
});

await t.test('an address as a bare path', async (t) => {
  const { endpoint } = await serve(t, {
    version: (_call, callback) => callback(null, { version: '0.1.0', runtimeName: 'x', runtimeVersion: '1', runtimeApiVersion: 'v1' }),
  });
  using cri = connectCri({ endpoint: endpoint.slice('unix://'.length) });
  t.equal((await cri.runtime.version({})).runtimeName, 'x');
});

await t.test('what is not a unix socket is refused', async (t) => {
  for (const endpoint of ['tcp://127.0.0.1:1', 'relative.sock', 'unix://relative', '']) {
    t.throws(() => connectCri({ endpoint }), { message: `CRI endpoint ${JSON.stringify(endpoint)}: expected unix:///absolute/path.sock` });
  }
  t.throws(() => connectCri({ endpoint: '/a.sock', imageEndpoint: 'b' }), /CRI endpoint "b"/);
});

await t.test("errors carry the call, the code and the runtime's message", async (t) => {
  const { endpoint } = await serve(t, {
    stopContainer: (_call, callback) =>
      callback({ code: status.NOT_FOUND, details: 'container "x" not found' } as ServiceError),
  });
  using cri = connectCri({ endpoint });
  const error = await failure(cri.runtime.stopContainer({ containerId: 'x' }));
  t.equal(error.call, 'StopContainer');
  t.equal(error.code, status.NOT_FOUND);
  t.equal(error.details, 'container "x" not found');
  t.equal(error.message, 'StopContainer: NOT_FOUND: container "x" not found');
  t.ok(error.cause, 'the gRPC error is the cause');
  t.equal((await failure(cri.runtime.attach({}))).code, status.UNIMPLEMENTED);
});

await t.test('a code that nobody knows is shown as a number', async (t) => {
  t.equal(new CriCallError('Version', 99 as status, 'odd').message, 'Version: 99: odd');
});

await t.test('nobody listens: UNAVAILABLE at the first call, in a sentence that names the socket', async (t) => {
  using cri = connectCri({ endpoint: 'unix:///nonexistent/cri.sock' });
  const error = await failure(cri.runtime.version({}));
  t.match(error, { code: status.UNAVAILABLE, connectionFailed: true });
  t.equal(error.details, 'cannot reach the runtime at /nonexistent/cri.sock: ENOENT');
  t.equal(error.message, 'Version: UNAVAILABLE: cannot reach the runtime at /nonexistent/cri.sock: ENOENT');
  using image = connectCri({ endpoint: '/nonexistent/cri.sock', imageEndpoint: '/nonexistent/image.sock' });
  t.match(await failure(image.image.listImages({})), { details: /\/nonexistent\/image\.sock/ });
});

await t.test('an answer that says UNAVAILABLE is no failed connection', async (t) => {
  const { endpoint } = await serve(t, {
    version: (_call, callback) => callback({ code: status.UNAVAILABLE, details: 'containerd is away' } as ServiceError),
  });
  using cri = connectCri({ endpoint });
  t.match(await failure(cri.runtime.version({})), { code: status.UNAVAILABLE, details: 'containerd is away', connectionFailed: false });
});

await t.test('a connection that is lost under a call', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'cri-api-'));
  const path = join(dir, 'cri.sock');
  const server = createServer();
  server.on('connection', (socket: Socket) => server.once('stream', () => socket.destroy()));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.teardown(() => {
    server.close();
    rmSync(dir, { recursive: true });
  });
  using cri = connectCri({ endpoint: path });
  t.match(await failure(cri.runtime.startContainer({})), {
    code: status.UNAVAILABLE,
    details: `the connection to the runtime at ${path} was lost`,
    connectionFailed: true,
  });
});

await t.test('many calls may share one signal', async (t) => {
  const { endpoint } = await serve(t, { startContainer: () => undefined });
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning.name);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  using cri = connectCri({ endpoint });
  const stop = new AbortController();
  const calls = Array.from({ length: 20 }, () => failure(cri.runtime.startContainer({}, { signal: stop.signal })));
  // Warnings are emitted in the next tick.
  await new Promise((resolve) => setTimeout(resolve, 20));
  stop.abort();
  t.same(new Set((await Promise.all(calls)).map((error) => error.code)), new Set([status.CANCELLED]));
  t.same(warnings, []);
});

await t.test('deadline and cancellation', async (t) => {
  const { endpoint } = await serve(t, { startContainer: () => undefined });
  using cri = connectCri({ endpoint });
  t.equal((await failure(cri.runtime.startContainer({}, { timeoutMs: 50 }))).code, status.DEADLINE_EXCEEDED);
  const stop = new AbortController();
  const call = failure(cri.runtime.startContainer({}, { signal: stop.signal }));
  setTimeout(() => stop.abort(), 20);
  t.equal((await call).code, status.CANCELLED);
  const late = await failure(cri.runtime.startContainer({}, { signal: AbortSignal.timeout(20) }));
  t.equal(late.code, status.DEADLINE_EXCEEDED, 'a signal that is a time limit');
  t.equal(late.details, 'the time that its caller gave it ran out');
  t.equal((await failure(cri.runtime.startContainer({}, { signal: AbortSignal.abort() }))).code, status.CANCELLED, 'cancelled before');
});

await t.test('a server stream', async (t) => {
  let cancelled: (() => void) | undefined;
  const wasCancelled = new Promise<void>((resolve) => (cancelled = resolve));
  let request: GetEventsRequest | undefined;
  const { endpoint } = await serve(t, {
    getContainerEvents: (call) => {
      request = call.request;
      call.on('cancelled', () => cancelled?.());
      for (let i = 0; i < 3; i++) {
        call.write({
          containerId: `c${i}`,
          containerEventType: ContainerEventType.CONTAINER_STARTED_EVENT,
          createdAt: 0n,
          podSandboxStatus: undefined,
          containersStatuses: [],
        });
      }
    },
  });
  using cri = connectCri({ endpoint });
  const seen: string[] = [];
  for await (const event of cri.runtime.getContainerEvents({})) {
    seen.push(event.containerId);
    if (seen.length === 2) break;
  }
  t.same(seen, ['c0', 'c1']);
  await wasCancelled;
  t.ok(request);
});

await t.test('a stream ends with its error, its deadline or its signal', async (t) => {
  const { endpoint } = await serve(t, {
    streamContainers: (call) => {
      call.emit('error', { code: status.INTERNAL, details: 'broken' });
    },
    getContainerEvents: () => undefined,
  });
  using cri = connectCri({ endpoint });
  const drain = async (stream: AsyncIterable<unknown>) => {
    for await (const _ of stream);
  };
  const error = await failure(drain(cri.runtime.streamContainers({})));
  t.match(error, { call: 'StreamContainers', code: status.INTERNAL, details: 'broken' });
  t.equal((await failure(drain(cri.runtime.getContainerEvents({}, { timeoutMs: 50 })))).code, status.DEADLINE_EXCEEDED);
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  t.equal((await failure(drain(cri.runtime.getContainerEvents({}, { signal: stop.signal })))).code, status.CANCELLED);
});

await t.test('replies above 4 MiB, as gRPC allows by default, and no more than 16 MiB', async (t) => {
  let size = 0;
  const { endpoint } = await serve(t, {
    execSync: (_call, callback) => callback(null, { stdout: Buffer.alloc(size), stderr: Buffer.alloc(0), exitCode: 0 }),
  });
  using cri = connectCri({ endpoint });
  size = 15 * 1024 * 1024;
  t.equal((await cri.runtime.execSync({ containerId: 'a' })).stdout.length, size);
  size = 17 * 1024 * 1024;
  t.equal((await failure(cri.runtime.execSync({ containerId: 'a' }))).code, status.RESOURCE_EXHAUSTED);
});

await t.test('the image service on an endpoint of its own', async (t) => {
  const runtime = await serve(t, {
    version: (_call, callback) => callback(null, { version: '0.1.0', runtimeName: 'r', runtimeVersion: '1', runtimeApiVersion: 'v1' }),
  });
  const image = await serve(t, {}, { listImages: (_call, callback) => callback(null, { images: [] }) });
  const cri = connectCri({ endpoint: runtime.endpoint, imageEndpoint: image.endpoint });
  t.equal((await cri.runtime.version({})).runtimeName, 'r');
  t.same((await cri.image.listImages({})).images, []);
  cri.close();
  await t.rejects(cri.image.listImages({}), 'both are closed');
});

await t.test('closing one client leaves another of the same endpoint', async (t) => {
  const { endpoint } = await serve(t, {
    version: (_call, callback) => callback(null, { version: '0.1.0', runtimeName: 'r', runtimeVersion: '1', runtimeApiVersion: 'v1' }),
  });
  using first = connectCri({ endpoint });
  {
    using second = connectCri({ endpoint });
    await second.runtime.version({});
  }
  t.equal((await first.runtime.version({})).runtimeName, 'r');
});
