import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'tap';
import { InboundLimit } from '../../src/streaming/inbound-limit.js';
import { portNumber } from '../../src/streaming/port-forward/port-number.js';
import { commandStatus } from '../../src/streaming/remote-command/command-status.js';
import { SizeDecoder, TerminalSizes } from '../../src/streaming/remote-command/terminal-sizes.js';
import { RequestTokens } from '../../src/streaming/request-tokens.js';
import { decodeMessage, encodeMessage } from '../../src/streaming/websocket/channel-codec.js';
import { OutputBroadcast } from '../../src/container/output-broadcast.js';

test('messages of channels: the examples of channel.k8s.io and base64.channel.k8s.io', (t) => {
  t.same(encodeMessage('binary', 1, Buffer.from('\n')), Buffer.from([1, 10]));
  t.same(decodeMessage('binary', Buffer.from([0, 102, 111, 111, 10])), { channel: 0, data: Buffer.from('foo\n') });
  t.equal(encodeMessage('base64', 1, Buffer.from('\n')), '1Cg==');
  t.same(decodeMessage('base64', Buffer.from([48, 90, 109, 57, 118, 67, 103, 111, 61])), { channel: 0, data: Buffer.from('foo\n\n') });
  t.equal(decodeMessage('binary', Buffer.alloc(0)), undefined);
  t.end();
});

test('S5 exit status: metav1.Status from version 4 on, text before', (t) => {
  t.same(JSON.parse(commandStatus({ exitCode: 42 }, 4)), {
    metadata: {},
    status: 'Failure',
    message: 'command terminated with non-zero exit code: 42',
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: '42' }] },
  });
  t.same(JSON.parse(commandStatus({ exitCode: 0 }, 5)), { metadata: {}, status: 'Success' });
  t.match(JSON.parse(commandStatus({ error: 'no' }, 4)), { status: 'Failure', reason: 'InternalError', message: 'no', code: 500 });
  t.equal(commandStatus({ exitCode: 0 }, 3), '');
  t.match(commandStatus({ exitCode: 42 }, 1), /42/);
  t.equal(commandStatus({ error: 'no' }, 2), 'no');
  t.end();
});

test('sizes: any cut, any case, the newest counts, nonsense does not', async (t) => {
  const sizes = new TerminalSizes();
  const decoder = new SizeDecoder(sizes);
  for (const byte of Buffer.from('{"Width":80,"Height":24}\n{"width":100,"height":50}')) decoder.push(Buffer.from([byte]));
  t.same(await sizes.next(), { width: 100, height: 50 });
  decoder.push(Buffer.from('{"Width":0,"Height":24}{"Width":"x"}nonsense}{"Width":1.5,"Height":2}{"Width":70000,"Height":2}'));
  t.equal(await sizes.next(10), undefined);
  decoder.push(Buffer.alloc(5_000, 'x'));
  decoder.push(Buffer.from('{"Width":1,"Height":2}'));
  t.same(await sizes.next(), { width: 1, height: 2 });
  const waiting = sizes.next();
  sizes.end();
  t.equal(await waiting, undefined);
});

test('tokens: once, for their kind, for their time, and not too many', async (t) => {
  const tokens = new RequestTokens<string>({ ttlMs: 50, limit: 2 });
  const any = (_value: string): _value is string => true;
  const none = (_value: string): _value is string => false;
  const first = tokens.issue('a') ?? '';
  t.match(first, /^[\w-]{43}$/, '256 bits');
  t.equal(tokens.redeem(first, none), undefined);
  t.equal(tokens.redeem(first, any), 'a', 'another kind does not use it up');
  t.equal(tokens.redeem(first, any), undefined);
  const old = tokens.issue('b') ?? '';
  t.type(tokens.issue('c'), 'string');
  t.equal(tokens.issue('d'), undefined);
  await pause(80);
  t.equal(tokens.redeem(old, any), undefined);
  t.type(tokens.issue('e'), 'string', 'there is room again');
  tokens.clear();
});

test('ports', (t) => {
  t.same(['1', '80', '65535'].map(portNumber), [1, 80, 65_535]);
  t.same(['0', '65536', '-1', '8o', '', undefined, '080000'].map(portNumber), Array(7).fill(undefined));
  t.end();
});

test('inbound limit: pauses above it, resumes at half, gives up who stands still while others wait', async (t) => {
  const calls: string[] = [];
  const transport = { pause: () => void calls.push('pause'), resume: () => void calls.push('resume') };
  const reader = new Readable({ highWaterMark: 10, read: () => limit.caughtUp(reader) });
  const limit = new InboundLimit({ bytes: 100 }, transport);
  for (let pushed = 0; pushed < 12; pushed++) if (!reader.push(Buffer.alloc(10))) limit.fellBehind(reader);
  t.same(calls, ['pause']);
  reader.resume();
  await pause(10);
  t.same(calls, ['pause', 'resume']);
  limit.close();

  const given: Readable[] = [];
  const stuck = new Readable({ highWaterMark: 1, read: () => undefined });
  const strict = new InboundLimit({ bytes: 10, stallMs: 500 }, transport, { others: () => true, giveUp: (stream) => given.push(stream) });
  stuck.push(Buffer.alloc(20));
  strict.fellBehind(stuck);
  await pause(1_300);
  t.same(given, [stuck]);
  t.equal(calls.at(-1), 'resume');
  strict.close();
});

const taker = (taken: Buffer[], wait: () => Promise<boolean>) => ({
  write: async (chunk: Buffer) => {
    const yes = await wait();
    if (yes) taken.push(chunk);
    return yes;
  },
});

test('attached clients: all get all, one that stands still costs a second, once', async (t) => {
  const broadcast = new OutputBroadcast();
  t.equal(broadcast.write(Buffer.from('x')), undefined, 'nobody attached: nothing to wait for');
  const taken: Buffer[] = [];
  const quick = broadcast.attach(taker(taken, () => Promise.resolve(true)));
  const stuck = broadcast.attach(taker([], () => new Promise(() => undefined)));
  const gone = broadcast.attach(taker([], () => Promise.resolve(false)));
  const began = Date.now();
  for (let chunk = 0; chunk < 40; chunk++) await broadcast.write(Buffer.alloc(64 * 1024));
  const took = Date.now() - began;
  t.ok(took > 900 && took < 2_000, `${took} ms`);
  t.equal(await stuck.ended, 'too slow');
  t.equal(await gone.ended, 'gone');
  broadcast.end();
  t.equal(await quick.ended, 'finished');
  t.equal(Buffer.concat(taken).length, 40 * 64 * 1024);
});

test('attached clients: a slow one that reads gets everything', async (t) => {
  const broadcast = new OutputBroadcast();
  const taken: Buffer[] = [];
  const slow = broadcast.attach(taker(taken, () => pause(20, true)));
  for (let chunk = 0; chunk < 30; chunk++) await broadcast.write(Buffer.alloc(64 * 1024, chunk));
  broadcast.end();
  t.equal(await slow.ended, 'finished');
  t.same(taken.map((chunk) => chunk[0]), Array.from({ length: 30 }, (_, index) => index));
});
