import { access, mkdir, symlink, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { shimAddress, ShimTasks } from '../../src/index.js';
import type { TtrpcConnectionOptions } from '../../src/shim/ttrpc-connection.js';
import { until } from '../support/fixture.js';
import { answered, field, refused, tinyShim } from '../support/tiny-shim.js';

const SHIM = 7;

/** A shim of one process, whose answers are frames; `requests` are the bodies it was sent. */
async function shim(t: Test, answer: (body: Buffer, socket: Socket, stream: number) => void, bootstrap: object = { version: 3, protocol: 'ttrpc' }) {
  const { directory: proc, path, requests, sockets } = await tinyShim(t, answer);
  await mkdir(join(proc, String(SHIM), 'cwd'), { recursive: true });
  await symlink('/', join(proc, String(SHIM), 'root'));
  await writeFile(join(proc, String(SHIM), 'cwd/bootstrap.json'), JSON.stringify({ address: `unix://${path}`, ...bootstrap }));
  const tasks = async (timeoutMs = 5_000, options: TtrpcConnectionOptions = {}) => new ShimTasks(await shimAddress(SHIM, proc), timeoutMs, options);
  const wait = async (signal?: AbortSignal, execId = '') => (await tasks()).wait('c1', execId, signal === undefined ? {} : { signal });
  return { proc, path, requests, sockets, tasks, wait };
}

const OK_42 = answered(Buffer.from([0x08, 42, 0x12, 4, 0x08, 5, 0x10, 6]));
const DELETED = Buffer.from([0x08, 9, 0x10, 42, 0x1a, 4, 0x08, 5, 0x10, 6]);
const NEW_EXEC = { containerId: 'c1', execId: 'e1', terminal: true, stdin: 'i', stdout: 'o', stderr: '', spec: { typeUrl: 'T', value: Buffer.from('{}') } };

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
  const older = await shim(t, (body, socket) => socket.write(body.includes('task.v2.') ? OK_42 : refused(status.UNIMPLEMENTED, 'service')), { version: 3, protocol: 'ttrpc' });
  t.match(await older.wait(), { exitStatus: 42 });
  t.equal(older.requests.length, 2);
  const said = await shim(t, (body, socket) => socket.write(body.includes('task.v2.') ? OK_42 : refused(status.UNIMPLEMENTED, 'service')), { version: 2, protocol: 'ttrpc' });
  t.match(await said.wait(), { exitStatus: 42 });
  t.equal(said.requests.length, 1);
});

t.test('what the shim refuses, and one that goes away, is told', async (t) => {
  const refusing = await shim(t, (_, socket) => socket.write(refused(status.NOT_FOUND, 'no such container')));
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
  const { tasks, requests, sockets } = await shim(t, (body, socket, stream) => socket.write(answered(body.includes('Delete') ? DELETED : Buffer.alloc(0), stream)));
  const one = await tasks();
  await one.exec(NEW_EXEC);
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
  t.equal(sockets.length, 1, 'on one connection');
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

t.test('what should be quick shares a connection, a wait has its own', async (t) => {
  const held: (() => void)[] = [];
  const { tasks, sockets, requests } = await shim(t, (body, socket, stream) => {
    if (body.includes('Wait')) held.push(() => socket.write(answered(Buffer.from([0x08, 1]), stream)));
    else socket.write(answered(body.includes('Delete') ? DELETED : Buffer.alloc(0), stream));
  });
  const one = await tasks();
  const waits = [one.wait('c1', 'e1'), one.wait('c1', 'e2')];
  await until(() => held.length === 2, 'the waits');
  await Promise.all(Array.from({ length: 50 }, () => one.exec(NEW_EXEC)));
  await Promise.all(Array.from({ length: 50 }, () => one.deleteProcess('c1', 'e1')));
  t.equal(requests.length, 102);
  t.equal(sockets.length, 3);
  for (const release of held) release();
  t.match(await Promise.all(waits), [{ exitStatus: 1 }, { exitStatus: 1 }]);
  await until(() => sockets.filter((socket) => socket.closed).length === 2, 'the ends of theirs');
});

t.test('the older protocol is found out by all that ask at once', async (t) => {
  const { tasks, sockets } = await shim(t, (body, socket, stream) =>
    socket.write(body.includes('task.v2.') ? answered(DELETED, stream) : refused(status.UNIMPLEMENTED, 'service', stream)),
  );
  const one = await tasks();
  t.match(await Promise.all([one.deleteProcess('c1', 'e1'), one.deleteProcess('c1', 'e2')]), [{ exitStatus: 42 }, { exitStatus: 42 }]);
  t.equal(sockets.length, 1);
});

t.test('the kept connection goes when it is idle or numbers run out, and the next call has another', async (t) => {
  const { tasks, sockets } = await shim(t, (_, socket, stream) => socket.write(answered(DELETED, stream)));
  const idle = await tasks(5_000, { idleMs: 30 });
  await idle.deleteProcess('c1', 'e1');
  await until(() => sockets[0]?.closed === true, 'its end');
  await idle.deleteProcess('c1', 'e1');
  t.equal(sockets.length, 2);
  const numbered = await tasks(5_000, { lastStream: 3 });
  for (let call = 0; call < 5; call++) await numbered.deleteProcess('c1', 'e1');
  t.equal(sockets.length, 5, 'two, two and one call');
});

t.test('close ends the connection behind the calls under way, and a shim that is shut down loses it and its socket', async (t) => {
  const held: (() => void)[] = [];
  const { tasks, sockets, path } = await shim(t, (body, socket, stream) => {
    const answer = () => socket.write(answered(body.includes('Shutdown') ? Buffer.alloc(0) : DELETED, stream));
    if (body.includes('held')) held.push(answer);
    else answer();
  });
  const one = await tasks();
  const first = one.deleteProcess('c1', 'held');
  await until(() => held.length === 1, 'the call');
  one.close();
  await one.deleteProcess('c1', 'e1');
  t.equal(sockets.length, 2);
  for (const release of held) release();
  t.match(await first, { exitStatus: 42 });
  await until(() => sockets[0]?.closed === true, 'its end');
  await one.shutDown('c1');
  await until(() => sockets[1]?.closed === true, 'its end');
  t.equal(sockets.length, 2);
  await t.rejects(access(path), { code: 'ENOENT' });
  one.close();
});

t.test('a shim that is gone is told, also by what had a connection to it', async (t) => {
  const { tasks, sockets, proc, path } = await shim(t, (_, socket, stream) => socket.write(answered(DELETED, stream)));
  const one = await tasks();
  await one.deleteProcess('c1', 'e1');
  for (const socket of sockets) socket.destroy();
  // Whether or not its end was noticed before.
  await one.deleteProcess('c1', 'e1').catch((error: unknown) => t.match(error, { code: status.UNAVAILABLE }));
  await until(() => sockets.every(({ closed }) => closed), 'its end');
  t.match(await one.deleteProcess('c1', 'e1'), { exitStatus: 42 }, 'a new connection');
  const nowhere = new ShimTasks({ socketPath: join(proc, 'none.sock'), version: 3 }, 5_000);
  await t.rejects(nowhere.deleteProcess('c1', 'e1'), { code: status.UNAVAILABLE });
  await t.rejects(nowhere.wait('c1'), { code: status.UNAVAILABLE });
  await access(path);
});
