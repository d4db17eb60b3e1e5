import { execFile } from 'node:child_process';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { TtrpcConnection } from '../../src/shim/ttrpc-connection.js';
import { sleep, until } from '../support/fixture.js';
import { answered, frame, refused, tinyShim } from '../support/tiny-shim.js';

const request = (method: string) => ({ service: 'S', method, payload: Buffer.alloc(0) });
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

/** A shim that answers when it is told to, and a connection to it. */
async function held(t: Test, options: ConstructorParameters<typeof TtrpcConnection>[1] = {}) {
  const calls = new Map<string, { readonly stream: number; readonly socket: Socket }>();
  const shim = await tinyShim(t, (body, socket, stream) => void calls.set(String.fromCharCode(body.at(-1) ?? 0), { stream, socket }));
  const connection = new TtrpcConnection(shim.path, options);
  t.teardown(() => connection.close());
  /** Named by one letter, which the request ends with. */
  const call = (name: string, signal?: AbortSignal, timeoutMs = 5_000) => {
    const result = connection.call({ service: 'S', method: 'M', payload: Buffer.from(name) }, { timeoutMs, signal });
    result.catch(() => undefined);
    return result;
  };
  const came = (...names: string[]) => until(() => names.every((name) => calls.has(name)), `the calls ${names.join()}`);
  const streams = () => Object.fromEntries([...calls].map(([name, { stream }]) => [name, stream]));
  const answer = (name: string, bytes = (stream: number) => answered(Buffer.from(name), stream)) => {
    const call = calls.get(name);
    call?.socket.write(bytes(call.stream));
  };
  const closed = () => until(() => shim.sockets.every((socket) => socket.closed), 'the end of the connection');
  return { ...shim, connection, call, came, answer, streams, closed };
}

t.test('calls at once, answered in another order and in pieces', async (t) => {
  const { call, came, answer, streams, sockets, connection } = await held(t);
  const [a, b, c] = [call('a'), call('b'), call('c')] as const;
  await came('a', 'b', 'c');
  t.same(streams(), { a: 1, b: 3, c: 5 }, 'a client has odd numbers that rise');
  answer('c');
  t.equal(text(await c), 'c');
  answer('b', (stream) => refused(status.NOT_FOUND, 'none', stream));
  await t.rejects(b, { code: status.NOT_FOUND, call: 'shim S/M', details: 'none' });
  const late = call('d');
  await came('d');
  const both = Buffer.concat([answered(Buffer.from('D'), 7), answered(Buffer.from('A'), 1)]);
  for (const piece of [both.subarray(0, 5), both.subarray(5, 18), both.subarray(18)]) {
    sockets[0]?.write(piece);
    await sleep(10);
  }
  t.same([text(await late), text(await a)], ['D', 'A']);
  t.equal(connection.takesCalls, true);
  t.equal(sockets.length, 1);
});

t.test('an answer larger than what is read at once', async (t) => {
  const { call, came, answer } = await held(t);
  const large = 'x'.repeat(100_000);
  const result = call('a');
  await came('a');
  const length = Buffer.from([0xa0, 0x8d, 0x06]);
  answer('a', (stream) => frame(2, Buffer.concat([Buffer.from([0x12]), length, Buffer.from(large)]), stream));
  t.ok(text(await result) === large);
});

for (const [how, failure] of [
  ['aborted', { message: 'enough' }],
  ['late', { code: status.DEADLINE_EXCEEDED, details: 'no answer within 20 ms' }],
] as const) {
  t.test(`a call that is ${how} beside another: that is answered, and the connection ends then`, async (t) => {
    const { call, came, answer, sockets, closed, connection } = await held(t);
    const stop = new AbortController();
    const given = call('a', stop.signal, how === 'late' ? 20 : 5_000);
    const other = call('b');
    await came('a', 'b');
    if (how === 'aborted') stop.abort(new Error('enough'));
    await t.rejects(given, failure);
    t.equal(connection.takesCalls, false);
    await t.rejects(call('c'), { code: status.UNAVAILABLE });
    await sleep(20);
    t.equal(sockets[0]?.closed, false, 'the other is under way');
    answer('a');
    answer('b');
    t.equal(text(await other), 'b');
    await closed();
  });
}

t.test('one that is aborted alone ends it at once, before it is sent too', async (t) => {
  const { call, came, closed } = await held(t);
  const stop = new AbortController();
  const given = call('a', stop.signal);
  await came('a');
  stop.abort(new Error('enough'));
  await t.rejects(given, { message: 'enough' });
  await closed();
  const early = await held(t);
  const unsent = early.call('a', AbortSignal.abort(new Error('before')));
  await t.rejects(unsent, { message: 'before' });
  t.equal(early.connection.takesCalls, true, 'it was not made');
  const again = new AbortController();
  const connecting = early.call('b', again.signal);
  again.abort(new Error('soon'));
  await t.rejects(connecting, { message: 'soon' });
  await sleep(20);
  t.same(early.requests, []);
});

t.test('idle, it ends; not while a call waits, and not before its time has passed again', async (t) => {
  const { call, came, answer, sockets, closed, connection } = await held(t, { idleMs: 60 });
  const slow = call('a');
  await came('a');
  await sleep(150);
  t.equal(sockets[0]?.closed, false, 'a call waits');
  answer('a');
  await slow;
  await sleep(20);
  t.equal(connection.takesCalls, true);
  await closed();
  t.equal(connection.takesCalls, false);
});

t.test('a shim that goes fails all calls under way, or the next one', async (t) => {
  const { call, came, sockets, connection } = await held(t);
  const results = [call('a'), call('b')];
  await came('a', 'b');
  for (const socket of sockets) socket.destroy();
  for (const result of results) await t.rejects(result, { code: status.UNAVAILABLE, call: 'shim S/M' });
  t.equal(connection.takesCalls, false);

  const idle = await held(t);
  const first = idle.call('a');
  await idle.came('a');
  idle.answer('a');
  await first;
  idle.sockets[0]?.destroy();
  // It has not been told yet.
  await t.rejects(idle.call('b'), { code: status.UNAVAILABLE });
  await t.rejects(new TtrpcConnection(join(idle.directory, 'none.sock')).call(request('M'), { timeoutMs: 0 }), { code: status.UNAVAILABLE });
});

t.test('what is no answer fails all calls and ends the connection', async (t) => {
  const wrong: readonly (readonly [string, Buffer])[] = [
    ['no frame', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['more than a message may have', Buffer.from([0, 0x40, 0, 1, 0, 0, 0, 1, 2, 0])],
    ['another type', frame(3, Buffer.alloc(0))],
    ['a call that was not made', answered(Buffer.alloc(0), 5)],
    ["a server's own", answered(Buffer.alloc(0), 2)],
    ['a body that is no message', frame(2, Buffer.from([0x12, 200, 1, 2]))],
  ];
  for (const [what, bytes] of wrong) {
    const { call, came, sockets, closed, connection } = await held(t);
    const results = [call('a'), call('b')];
    await came('a', 'b');
    sockets[0]?.write(bytes);
    for (const result of results) await t.rejects(result, { code: status.INTERNAL }, what);
    t.equal(connection.takesCalls, false, what);
    await closed();
  }
});

t.test('100 calls need one connection, and leave no listener on what may abort them', async (t) => {
  const { path, sockets } = await tinyShim(t, (body, socket, stream) => socket.write(answered(body.subarray(-1), stream)));
  const connection = new TtrpcConnection(path);
  const { signal } = new AbortController();
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  Object.assign(signal, {
    addEventListener: (...call: Parameters<typeof add>) => (listeners++, add(...call)),
    removeEventListener: (...call: Parameters<typeof remove>) => (listeners--, remove(...call)),
  });
  const ask = async (n: number) => [...(await connection.call({ service: 'S', method: 'M', payload: Buffer.from([n]) }, { timeoutMs: 5_000, signal }))];
  for (let n = 0; n < 50; n++) t.same(await ask(n), [n]);
  t.same(await Promise.all(Array.from({ length: 50 }, (_, n) => ask(n))), Array.from({ length: 50 }, (_, n) => [n]));
  t.equal(sockets.length, 1);
  t.equal(listeners, 0);
  connection.close();
  await until(() => sockets[0]?.closed === true, 'its end');
});

t.test('an idle one does not keep the process alive, a call does', async (t) => {
  const { path, sockets } = await tinyShim(t, (body, socket, stream) => setTimeout(() => socket.write(answered(Buffer.from('late'), stream)), 200));
  const module = pathToFileURL(fileURLToPath(new URL('../../src/shim/ttrpc-connection.js', import.meta.url))).href;
  const script = `
    import { TtrpcConnection } from ${JSON.stringify(module)};
    const connection = new TtrpcConnection(${JSON.stringify(path)});
    const call = () => connection.call({ service: 'S', method: 'M', payload: Buffer.alloc(0) }, { timeoutMs: 0 });
    await call();
    console.log(Buffer.from(await call()).toString(), connection.takesCalls);
  `;
  const started = performance.now();
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 30_000 });
  t.equal(stdout, 'late true\n');
  t.ok(performance.now() - started < 9_000, 'it has not waited to be idle long enough');
  t.equal(sockets.length, 1);
});
