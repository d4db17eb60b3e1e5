import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import t from 'tap';
import { Caller } from './caller.js';
import { RawClient } from './raw-client.js';

const directory = await mkdtemp(join(tmpdir(), 'criquet-raw-'));
t.teardown(() => rm(directory, { recursive: true }));
const socketPath = join(directory, 's');

/** Answers with the request, as many times as its first byte says; 0 fails. */
const server = new Server();
const echo = {
  path: '/test.Echo/Echo',
  requestStream: false,
  responseStream: false,
  requestSerialize: (bytes: Buffer) => bytes,
  requestDeserialize: (bytes: Buffer) => bytes,
  responseSerialize: (bytes: Buffer) => bytes,
  responseDeserialize: (bytes: Buffer) => bytes,
} as const;
server.addService({ echo }, {
  echo: ({ request }: { request: Buffer }, reply: (error: object | null, value?: Buffer) => void) =>
    request[0] === 0 ? reply({ code: status.NOT_FOUND, details: 'none' }) : reply(null, Buffer.concat(Array.from({ length: request[0] ?? 0 }, () => request))),
});
await new Promise<void>((resolve, reject) => server.bindAsync(`unix://${socketPath}`, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve())));
t.teardown(() => server.forceShutdown());

await t.test('many calls at once on one connection, each with its own reply', async (t) => {
  const client = await RawClient.connect(socketPath);
  t.teardown(() => client.close());
  const requests = Array.from({ length: 20 }, (_, index) => Buffer.from([1 + (index % 3), index]));
  const replies = await Promise.all(requests.map((message) => client.call({ path: echo.path, message })));
  t.strictSame(replies, requests.map((message) => Buffer.concat(Array.from({ length: message[0] ?? 0 }, () => message))));
});

await t.test('replies of more than a frame and than a window', async (t) => {
  const client = await RawClient.connect(socketPath);
  t.teardown(() => client.close());
  const message = Buffer.alloc(12_000, 200);
  for (let call = 0; call < 3; call++) t.equal((await client.call({ path: echo.path, message })).length, 200 * 12_000);
});

await t.test('a call that fails, and a connection that breaks', async (t) => {
  const client = await RawClient.connect(socketPath);
  await t.rejects(client.call({ path: echo.path, message: Buffer.from([0]) }), /failed/);
  await t.rejects(client.call({ path: '/test.Echo/Nothing', message: Buffer.from([1]) }), /failed/);
  const pending = client.call({ path: echo.path, message: Buffer.from([1]) });
  client.close();
  await t.rejects(pending, /closed/);
  await t.rejects(client.call({ path: echo.path, message: Buffer.from([1]) }), /closed/);
  await t.rejects(RawClient.connect(join(directory, 'nobody')), { code: 'ENOENT' });
});

await t.test('a burst counts what was answered, and fails with the first call that does', async (t) => {
  using caller = new Caller();
  const order = { socketPath, path: echo.path, message: Buffer.from([2, 7]).toString('base64'), callers: 4, milliseconds: 100 };
  const { calls, seconds, cpuSeconds } = await caller.burst(order);
  t.ok(calls >= 4 && seconds >= 0.1 && cpuSeconds > 0, JSON.stringify({ calls, seconds, cpuSeconds }));
  await t.rejects(caller.burst({ ...order, message: Buffer.from([0]).toString('base64') }), /failed/);
});
