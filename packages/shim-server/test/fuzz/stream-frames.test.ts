import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { constants, deflateRawSync, deflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { pino } from 'pino';
import { test } from 'tap';
import { StreamServer, type StreamRuntime } from '../../src/streaming/index.js';
import { HEADER_DICTIONARY } from '../../src/streaming/spdy/dictionary.js';
import { controlFrame, dataFrame, SpdyClient, words } from '../streaming/support/spdy-client.js';
import { eventually } from '../component/shim-harness.js';
import { hostileText } from './hostile.js';
import { fuzzing } from './parameters.js';

/** Takes all input, says a word, ends when the input ends or its client goes. */
function echoing(): StreamRuntime & { readonly underWay: () => number } {
  let underWay = 0;
  const counted = async (work: () => Promise<void>) => {
    underWay += 1;
    try {
      await work();
    } finally {
      underWay -= 1;
    }
  };
  const until = (gone: AbortSignal) => new Promise<void>((resolve) => (gone.aborted ? resolve() : gone.addEventListener('abort', () => resolve())));
  return {
    underWay: () => underWay,
    exec: async (_, { stdin, stdout }, gone) => {
      await counted(async () => {
        await stdout?.write(Buffer.from('word'));
        stdin?.resume();
        await Promise.race([until(gone), stdin === undefined ? undefined : once(stdin, 'close').catch(() => undefined)]);
      });
      return 0;
    },
    attach: (_, { stdin }, gone) =>
      counted(async () => {
        stdin?.resume();
        await until(gone);
      }),
    portForward: (_, port, stream, gone) =>
      counted(async () => {
        stream.on('error', () => undefined);
        if (port % 2 === 1) throw new Error('refused');
        stream.pipe(stream);
        await Promise.race([until(gone), once(stream, 'close').catch(() => undefined)]);
      }),
  };
}

const streamId = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(1, 3, 5, 7) }, { weight: 2, arbitrary: fc.constantFrom(0, 2, 2 ** 31 - 1) }, fc.nat(20));
const payload = fc.oneof({ weight: 8, arbitrary: fc.uint8Array({ maxLength: 64 }) }, { weight: 1, arbitrary: fc.constantFrom(1_000, 70_000, 300_000).map((size) => new Uint8Array(size)) });
const spdyFrame: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(streamId, payload, fc.constantFrom(0, 1, 255)).map(([id, data, flags]) => dataFrame(id, Buffer.from(data), flags)) },
  { weight: 4, arbitrary: fc.tuple(fc.nat(12), fc.nat(255), payload).map(([type, flags, data]) => controlFrame(type, flags, Buffer.from(data.subarray(0, 70_000)))) },
  { weight: 4, arbitrary: fc.tuple(streamId, fc.nat(1)).map(([id, flags]) => controlFrame(1, flags, Buffer.concat([words(id, 0), Buffer.alloc(2), Buffer.from('78bbe3c6a7c202', 'hex')]))) },
  { weight: 2, arbitrary: fc.tuple(streamId, fc.nat(12)).map(([id, code]) => controlFrame(3, 0, words(id, code))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)) },
);
/** Frames of WebSocket, with or without what they need: mask, length, opcode. */
const webSocketFrame: fc.Arbitrary<Buffer> = fc
  .record({ fin: fc.boolean(), reserved: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.nat(7)), opcode: fc.constantFrom(0, 1, 2, 2, 2, 8, 9, 10, 3, 11), masked: fc.oneof({ weight: 8, arbitrary: fc.constant(true) }, fc.constant(false)), data: payload })
  .map(({ fin, reserved, opcode, masked, data }) => {
    const head = [(fin ? 0x80 : 0) | (reserved << 4) | opcode];
    const mask = masked ? 0x80 : 0;
    const length = data.length < 126 ? [mask | data.length] : data.length < 65_536 ? [mask | 126, data.length >> 8, data.length & 255] : [mask | 127, 0, 0, 0, 0, ...words(data.length)];
    // A mask of zeros leaves the data as it is.
    return Buffer.concat([Buffer.from([...head, ...length]), masked ? Buffer.alloc(4) : Buffer.alloc(0), data]);
  });
/** A client opens its streams first, or there is nothing to say on them. */
const opening = fc.boolean();

interface Session {
  readonly kind: 'exec' | 'attach' | 'portforward';
  readonly head: string;
  readonly open: boolean;
  readonly frames: readonly Buffer[];
  /** Bytes of one write; 0: all at once. */
  readonly piece: number;
  readonly abrupt: boolean;
}

const plainHead = (value: string) => value.replace(/[^\x20-\x7e]/g, '');
const spdyHead = fc.constantFrom('v5.channel.k8s.io', 'v4.channel.k8s.io', 'channel.k8s.io', 'portforward.k8s.io').map((protocol) => `Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n`);
const webSocketHead = fc
  .constantFrom('v5.channel.k8s.io', 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io', 'channel.k8s.io', '', 'SPDY/3.1+portforward.k8s.io')
  .map((protocol) => `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${protocol === '' ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`}`);
const oddHead = fc.tuple(fc.constantFrom('websocket', 'SPDY/3.1', 'h2c', '', 'websocket, SPDY/3.1'), hostileText, hostileText, fc.constantFrom('13', '8', 'x')).map(
  ([upgrade, protocol, key, version]) =>
    `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\nX-Stream-Protocol-Version: ${plainHead(protocol)}\r\nSec-WebSocket-Protocol: ${plainHead(protocol)}\r\nSec-WebSocket-Key: ${plainHead(key)}\r\nSec-WebSocket-Version: ${version}\r\n`,
);
const common = { kind: fc.constantFrom('exec' as const, 'attach' as const, 'portforward' as const), open: opening, piece: fc.constantFrom(0, 0, 1, 7, 4_096), abrupt: fc.boolean() };
const sessions: fc.Arbitrary<Session> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ ...common, head: spdyHead, frames: fc.array(spdyFrame, { maxLength: 8 }) }) },
  { weight: 4, arbitrary: fc.record({ ...common, head: webSocketHead, frames: fc.array(fc.oneof(webSocketFrame, spdyFrame), { maxLength: 8 }) }) },
  { weight: 1, arbitrary: fc.record({ ...common, head: oddHead, frames: fc.array(fc.oneof(webSocketFrame, spdyFrame), { maxLength: 3 }) }) },
);

/** Sessions at the same time: many of them only wait for their client to be given up. */
const AT_ONCE = 24;

const OPENED_COMMAND = opened(['error', 'stdin', 'stdout'].map((streamtype) => ({ streamtype })));
const OPENED_FORWARDS = opened(['80', '81'].flatMap((port) => ['error', 'data'].map((streamtype) => ({ streamtype, port, requestid: port }))));

test('SPDY and WebSocket frames of any kind: the server lives, and every session ends', { timeout: 600_000 }, async (t) => {
  const runtime = echoing();
  const server = new StreamServer({
    address: '127.0.0.1',
    port: 0,
    idleTimeoutMs: 1_000,
    tokenTtlMs: 60_000,
    tokenLimit: 1_000,
    // What a session did not give back would be missing soon.
    maxStreams: AT_ONCE * 4,
    creationTimeoutMs: 200,
    runtime,
    log: pino({ level: 'silent' }),
  });
  await server.open();
  t.teardown(() => server.close());
  const command = { containerId: 'c', tty: false, stdin: true, stdout: true, stderr: false };
  const urlOf = (kind: Session['kind']) =>
    new URL(
      (kind === 'portforward' ? server.url({ kind, podSandboxId: 'p', ports: [80, 81] }) : server.url(kind === 'exec' ? { kind, cmd: ['x'], ...command } : { kind, ...command })) ?? '',
    );
  const good = async () => {
    const client = await SpdyClient.connect(urlOf('exec').href, ['v4.channel.k8s.io']);
    const { stdin, stdout } = await client.openTypes('error', 'stdin', 'stdout');
    stdin.end();
    await client.closed;
    if (stdout.text !== 'word') throw new Error(`a good client got ${JSON.stringify(stdout.text)}`);
  };
  const run = async ({ kind, head, open, frames, piece, abrupt }: Session) => {
    const url = urlOf(kind);
    const socket = connect({ host: '127.0.0.1', port: Number(url.port) });
    socket.on('error', () => undefined).resume();
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.write(`POST ${url.pathname} HTTP/1.1\r\nHost: x\r\n${head}\r\n`);
    const streams = kind === 'portforward' ? OPENED_FORWARDS : OPENED_COMMAND;
    const bytes = Buffer.concat([...(open && head.includes('SPDY/3.1\r\n') ? [streams] : []), ...frames]);
    await send(socket, bytes, piece);
    if (abrupt) socket.destroy();
    else socket.end();
    await Promise.race([closed, pause(10_000, undefined, { ref: false }).then(() => Promise.reject(new Error('the session does not end')))]);
  };
  const together = async (all: readonly Session[]) => {
    await Promise.all(all.map(run));
    await eventually(() => {
      if (runtime.underWay() > 0) throw new Error(`${runtime.underWay()} commands are still under way`);
    }, 10_000);
    await good();
  };
  await fc.assert(fc.asyncProperty(fc.array(sessions, { minLength: AT_ONCE, maxLength: AT_ONCE }), together), fuzzing(6));
  t.equal(server.state.reopened, 0);
});

async function send(socket: Socket, bytes: Buffer, piece: number): Promise<void> {
  if (piece === 0 || bytes.length > 20_000) {
    socket.write(bytes);
    return;
  }
  for (let at = 0; at < Math.min(bytes.length, 200 * piece); at += piece) {
    if (!socket.write(bytes.subarray(at, at + piece)) || at % 50 === 0) await pause(0);
  }
}

/** SYN_STREAMs as a good client sends them: their header blocks share one compression context. */
function opened(streams: readonly Readonly<Record<string, string>>[]): Buffer {
  const frames = streams.map((headers, index) => {
    const fields = Object.entries(headers).flat();
    const plain = Buffer.concat([words(fields.length / 2), ...fields.map((field) => Buffer.concat([words(field.length), Buffer.from(field)]))]);
    const finishFlush = constants.Z_SYNC_FLUSH;
    const block = index === 0 ? deflateSync(plain, { dictionary: HEADER_DICTIONARY, finishFlush }) : deflateRawSync(plain, { finishFlush });
    return controlFrame(1, 0, Buffer.concat([words(index * 2 + 1, 0), Buffer.alloc(2), block]));
  });
  return Buffer.concat(frames);
}
