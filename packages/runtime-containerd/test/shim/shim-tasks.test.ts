import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { shimAddress, ShimTasks } from '../../src/index.js';

// Bytes are written down by hand: ttrpc's PROTOCOL.md, and its request and response messages.

const SHIM = 7;
const frame = (type: number, body: Buffer): Buffer => {
  const header = Buffer.alloc(10);
  header.writeUInt32BE(body.length, 0);
  header.writeUInt32BE(1, 4);
  header.writeUInt8(type, 8);
  return Buffer.concat([header, body]);
};
const field = (tag: number, bytes: Buffer): Buffer => Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);

/** A shim of one process, whose answers are frames; `requests` are the bodies it was sent. */
async function shim(t: Test, answer: (body: Buffer, socket: Socket) => void, bootstrap: object = { version: 3, protocol: 'ttrpc' }) {
  const proc = await mkdtemp(join(tmpdir(), 'criquet-shim-wait-'));
  const path = join(proc, 'shim.sock');
  const requests: Buffer[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      requests.push(data.subarray(10));
      t.equal(data.readUInt8(8), 1, 'a request');
      t.equal(data.readUInt32BE(0), data.length - 10);
      answer(data.subarray(10), socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  await mkdir(join(proc, String(SHIM), 'cwd'), { recursive: true });
  await symlink('/', join(proc, String(SHIM), 'root'));
  await writeFile(join(proc, String(SHIM), 'cwd/bootstrap.json'), JSON.stringify({ address: `unix://${path}`, ...bootstrap }));
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await rm(proc, { recursive: true });
  });
  const tasks = async (timeoutMs = 5_000) => new ShimTasks(await shimAddress(SHIM, proc), timeoutMs);
  const wait = async (signal?: AbortSignal, execId = '') => (await tasks()).wait('c1', execId, signal === undefined ? {} : { signal });
  return { proc, requests, sockets, tasks, wait };
}

const OK_42 = frame(2, field(0x12, Buffer.from([0x08, 42, 0x12, 4, 0x08, 5, 0x10, 6])));
const refusal = (code: number, text: string) => frame(2, field(0x0a, Buffer.concat([Buffer.from([0x08, code]), field(0x12, Buffer.from(text))])));

t.test('asks the shim by the protocol, and reads an answer that comes in pieces', async (t) => {
  const { wait, requests } = await shim(t, (_, socket) => {
    socket.write(OK_42.subarray(0, 4));
    setTimeout(() => socket.write(OK_42.subarray(4, 13)), 20);
    setTimeout(() => socket.write(OK_42.subarray(13)), 40);
  });
  t.same(await wait(undefined, 'e1'), { pid: 0, exitStatus: 42, exitedAt: 5_000_000_006n });
  const expected = Buffer.concat([
    field(0x0a, Buffer.from('containerd.task.v3.Task')),
    field(0x12, Buffer.from('Wait')),
    field(0x1a, Buffer.concat([field(0x0a, Buffer.from('c1')), field(0x12, Buffer.from('e1'))])),
  ]);
  t.same(requests, [expected]);
});

t.test('a shim of the older protocol, said or found out', async (t) => {
  const older = await shim(t, (body, socket) => socket.write(body.includes('task.v2.') ? OK_42 : refusal(status.UNIMPLEMENTED, 'service')), { version: 3, protocol: 'ttrpc' });
  t.match(await older.wait(), { exitStatus: 42 });
  t.equal(older.requests.length, 2);
  const said = await shim(t, (body, socket) => socket.write(body.includes('task.v2.') ? OK_42 : refusal(status.UNIMPLEMENTED, 'service')), { version: 2, protocol: 'ttrpc' });
  t.match(await said.wait(), { exitStatus: 42 });
  t.equal(said.requests.length, 1);
});

t.test('what the shim refuses, and one that goes away, is told', async (t) => {
  const refusing = await shim(t, (_, socket) => socket.write(refusal(status.NOT_FOUND, 'no such container')));
  await t.rejects(refusing.wait(), { code: status.NOT_FOUND, details: 'no such container' });
  const leaving = await shim(t, (_, socket) => socket.destroy());
  await t.rejects(leaving.wait(), { code: status.UNAVAILABLE });
  const talking = await shim(t, (_, socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
  await t.rejects(talking.wait(), { code: status.INTERNAL });
  await t.rejects(shimAddress(8, talking.proc), { code: status.UNAVAILABLE }, 'nobody is there');
  const other = await shim(t, () => undefined, { version: 3, protocol: 'grpc' });
  await t.rejects(other.wait(), { code: status.UNIMPLEMENTED });
});

t.test('the signal ends the wait and its connection', async (t) => {
  const { wait, sockets, requests } = await shim(t, () => undefined);
  const stop = new AbortController();
  const waiting = wait(stop.signal);
  waiting.catch(() => undefined);
  while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const closed = new Promise((resolve) => sockets[0]?.once('close', resolve));
  stop.abort(new Error('enough'));
  await t.rejects(waiting, { message: 'enough' });
  await closed;
  await t.rejects(wait(stop.signal), { message: 'enough' });
});

t.test('a process is added and deleted', async (t) => {
  const { tasks, requests } = await shim(t, (body, socket) => socket.write(frame(2, field(0x12, body.includes('Delete') ? Buffer.from([0x08, 9, 0x10, 42, 0x1a, 4, 0x08, 5, 0x10, 6]) : Buffer.alloc(0)))));
  const one = await tasks();
  await one.exec({ containerId: 'c1', execId: 'e1', terminal: true, stdin: 'i', stdout: 'o', stderr: '', spec: { typeUrl: 'T', value: Buffer.from('{}') } });
  t.same(await one.deleteProcess('c1', 'e1'), { pid: 9, exitStatus: 42, exitedAt: 5_000_000_006n });
  // Numbers of the fields: containerd.task.v3.ExecProcessRequest and DeleteRequest.
  const spec = Buffer.concat([field(0x0a, Buffer.from('T')), field(0x12, Buffer.from('{}'))]);
  const exec = Buffer.concat([
    field(0x0a, Buffer.from('c1')),
    field(0x12, Buffer.from('e1')),
    Buffer.from([0x18, 1]),
    field(0x22, Buffer.from('i')),
    field(0x2a, Buffer.from('o')),
    field(0x3a, spec),
  ]);
  const request = (method: string, payload: Buffer) =>
    Buffer.concat([field(0x0a, Buffer.from('containerd.task.v3.Task')), field(0x12, Buffer.from(method)), field(0x1a, payload)]);
  t.same(requests, [request('Exec', exec), request('Delete', Buffer.concat([field(0x0a, Buffer.from('c1')), field(0x12, Buffer.from('e1'))]))]);
});

t.test('one that does not answer: a wait has time, what should be quick has not', async (t) => {
  const { tasks, wait, sockets } = await shim(t, () => undefined);
  const closed = new Promise<void>((resolve) => setTimeout(() => sockets[0]?.once('close', () => resolve()), 20));
  await t.rejects((await tasks(50)).deleteProcess('c1', 'e1'), { code: status.DEADLINE_EXCEEDED, details: 'no answer within 50 ms' });
  await closed;
  const stop = new AbortController();
  const waiting = wait(stop.signal);
  const first = await Promise.race([waiting.catch(() => 'ended'), new Promise((resolve) => setTimeout(() => resolve('waits'), 200))]);
  t.equal(first, 'waits');
  stop.abort(new Error('enough'));
  await t.rejects(waiting, { message: 'enough' });
});
