import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { InboundLimits } from '../inbound-limit.js';
import { SpdySession } from '../spdy/spdy-session.js';
import type { SpdyStream } from '../spdy/spdy-stream.js';
import type { CommandStreams, OutputStream } from '../stream-runtime.js';
import { commandStatus, type CommandOutcome } from './command-status.js';
import type { CommandSession, WantedStreams } from './command-session.js';
import { SizeDecoder, TerminalSizes } from './terminal-sizes.js';

/** The versions of the protocol, as a client names them in X-Stream-Protocol-Version. Over SPDY the fifth says what the fourth does. */
export const SPDY_COMMAND_PROTOCOLS: Readonly<Record<string, number>> = {
  'v5.channel.k8s.io': 5,
  'v4.channel.k8s.io': 4,
  'v3.channel.k8s.io': 3,
  'v2.channel.k8s.io': 2,
  'channel.k8s.io': 1,
};

const STDIN_LIMITS: InboundLimits = { bytes: 1024 * 1024 };
/** Error, stdin, stdout, stderr, resize. */
const MAX_STREAMS = 5;
/** How long a client may take to read the last of it. */
const FLUSH_MS = 30_000;

type StreamType = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize';

export interface SpdyCommandOptions {
  readonly transport: Duplex;
  /** What came with the request already. */
  readonly head: Buffer;
  readonly version: number;
  readonly wanted: WantedStreams;
  /** How long the client may take to open its streams, milliseconds. */
  readonly creationTimeoutMs: number;
}

/** Waits for the client's streams. @throws Error when they do not come; the connection is closed then */
export async function openSpdyCommand({ transport, head, version, wanted, creationTimeoutMs }: SpdyCommandOptions): Promise<CommandSession> {
  const expected = expectedStreams(wanted, version);
  const streams = new Map<StreamType, SpdyStream>();
  let allThere: () => void = () => undefined;
  const complete = new Promise<void>((resolve) => (allThere = resolve));
  const session = new SpdySession(transport, head, {
    inbound: STDIN_LIMITS,
    maxStreams: MAX_STREAMS,
    onStream: (stream) => {
      const type = stream.headers.get('streamtype') as StreamType | undefined;
      if (type === undefined || streams.has(type)) throw new Error(`unexpected stream ${type ?? 'without a type'}`);
      streams.set(type, stream);
      if (expected.every((name) => streams.has(name))) allThere();
    },
  });
  const gone = new AbortController();
  void session.closed.then(() => gone.abort());
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), creationTimeoutMs)));
  const first = await Promise.race([complete, late, session.closed.then(() => 'closed' as const)]);
  clearTimeout(timer);
  if (first !== undefined) {
    session.destroy();
    const missing = expected.filter((name) => !streams.has(name)).join(', ');
    throw new Error(first === 'late' ? `the client opened no stream for ${missing} in time` : 'the client went away');
  }
  return new SpdyCommand(session, streams, expected, version, gone.signal);
}

function expectedStreams({ tty, stdin, stdout, stderr }: WantedStreams, version: number): StreamType[] {
  const types: StreamType[] = ['error'];
  if (stdin) types.push('stdin');
  if (stdout) types.push('stdout');
  if (stderr && !tty) types.push('stderr');
  if (tty && version >= 3) types.push('resize');
  return types;
}

class SpdyCommand implements CommandSession {
  readonly streams: CommandStreams;

  constructor(
    private readonly session: SpdySession,
    private readonly byType: ReadonlyMap<StreamType, SpdyStream>,
    expected: readonly StreamType[],
    private readonly version: number,
    readonly gone: AbortSignal,
  ) {
    const sizes = new TerminalSizes();
    // A stream that was not asked for may be opened, and carries nothing.
    const asked = (type: StreamType): SpdyStream | undefined => (expected.includes(type) ? byType.get(type) : undefined);
    const resize = asked('resize');
    if (resize === undefined) sizes.end();
    else {
      const decoder = new SizeDecoder(sizes);
      resize.on('data', (chunk: Buffer) => decoder.push(chunk)).once('end', () => sizes.end()).once('close', () => sizes.end());
    }
    const [stdin, stdout, stderr] = [asked('stdin'), asked('stdout'), asked('stderr')];
    // Nobody sends on these, but their end has to be read.
    for (const [type, stream] of byType) if (type !== 'stdin' && type !== 'resize') stream.resume();
    this.streams = {
      sizes,
      ...(stdin === undefined ? {} : { stdin }),
      ...(stdout === undefined ? {} : { stdout: outputTo(stdout) }),
      ...(stderr === undefined ? {} : { stderr: outputTo(stderr) }),
    };
  }

  async finish(outcome: CommandOutcome): Promise<void> {
    // What the client still sends on stdin has nobody to read it.
    for (const stream of this.byType.values()) stream.resume();
    for (const [type, stream] of this.byType) {
      if (type === 'error') continue;
      stream.end();
    }
    this.byType.get('error')?.end(commandStatus(outcome, this.version));
    const flushed = [...this.byType.values()].map((stream) => finished(stream, { readable: false }).catch(() => undefined));
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([Promise.all(flushed), new Promise((resolve) => (timer = setTimeout(resolve, FLUSH_MS)))]);
    clearTimeout(timer);
    await this.session.end();
  }
}

function outputTo(stream: SpdyStream): OutputStream {
  return {
    write: (chunk) =>
      new Promise((resolve) => {
        if (!stream.writable) return resolve(false);
        stream.write(chunk, (error) => resolve(!error));
      }),
  };
}
