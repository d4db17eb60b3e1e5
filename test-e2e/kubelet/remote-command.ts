import { once } from 'node:events';
import { WebSocket } from 'ws';
import { patience } from '../harness/environment.js';

/** Channels of `v5.channel.k8s.io` and `v4.channel.k8s.io`: the first byte of every message. */
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 } as const;

export interface CommandAnswer {
  readonly stdout: string;
  readonly stderr: string;
  /** v1 Status: how the command ended. */
  readonly status: { readonly status?: string; readonly reason?: string; readonly details?: unknown };
}

export interface CommandInput {
  /** `v5.channel.k8s.io`, which a kubelet turns into SPDY, or `v4.channel.k8s.io`, which it passes through. */
  readonly protocol: 'v5.channel.k8s.io' | 'v4.channel.k8s.io';
  /** Sent to the command. */
  readonly stdin?: string;
  /** The command's input ends then; only v5 can say so. */
  readonly endInput?: boolean;
  /** Ends the connection when the output matches, for what does not end by itself. */
  readonly until?: RegExp;
}

/** Exec or attach over a WebSocket. Rejects when the server refuses, or after 60 s. */
export async function remoteCommand(url: string, { protocol, stdin, endInput, until }: CommandInput): Promise<CommandAnswer> {
  const socket = new WebSocket(url, protocol, { rejectUnauthorized: false, handshakeTimeout: patience(30_000) });
  const timer = setTimeout(() => socket.terminate(), patience(60_000));
  const said: Record<number, string> = { [CHANNEL.stdout]: '', [CHANNEL.stderr]: '', [CHANNEL.error]: '' };
  socket.on('message', (data: Buffer) => {
    const channel = data[0] ?? 0;
    said[channel] = (said[channel] ?? '') + data.subarray(1).toString();
    if (until?.test(said[CHANNEL.stdout] ?? '') === true) socket.close();
  });
  const closed = once(socket, 'close');
  await once(socket, 'open');
  if (stdin !== undefined) {
    socket.send(Buffer.concat([Buffer.from([CHANNEL.stdin]), Buffer.from(stdin)]));
    if (endInput === true) socket.send(Buffer.from([CHANNEL.close, CHANNEL.stdin]));
  }
  await closed;
  clearTimeout(timer);
  const status = said[CHANNEL.error] ?? '';
  return {
    stdout: said[CHANNEL.stdout] ?? '',
    stderr: said[CHANNEL.stderr] ?? '',
    status: status === '' ? {} : (JSON.parse(status) as CommandAnswer['status']),
  };
}

/** What a pod's port answers to `request` over the kubelet's /portForward; the first two bytes of either channel are the port. */
export async function forwardPort(url: string, request: string): Promise<string> {
  const socket = new WebSocket(url, 'v4.channel.k8s.io', { rejectUnauthorized: false, handshakeTimeout: patience(30_000) });
  const timer = setTimeout(() => socket.terminate(), patience(30_000));
  const parts: Buffer[] = [];
  socket.on('message', (data: Buffer) => {
    if (data[0] === 0) parts.push(data.subarray(1));
    if (Buffer.concat(parts).subarray(2).includes('</end>')) socket.close();
  });
  const closed = once(socket, 'close');
  await once(socket, 'open');
  socket.send(Buffer.concat([Buffer.from([0]), Buffer.from(request)]));
  await closed;
  clearTimeout(timer);
  return Buffer.concat(parts).subarray(2).toString();
}
