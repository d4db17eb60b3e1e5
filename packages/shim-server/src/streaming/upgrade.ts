import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** What a client wants its connection to become. */
export type UpgradeKind = 'spdy' | 'websocket';

/** An HTTP request that asks for an upgrade, and the connection it came on. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly transport: Duplex;
  readonly head: Buffer;
}

/** Why an upgrade is refused, as an HTTP answer. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';

  constructor(
    readonly status: 400 | 403 | 404 | 503,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

const REASONS = { 400: 'Bad Request', 403: 'Forbidden', 404: 'Not Found', 503: 'Service Unavailable' } as const;
const PROTOCOL_HEADER = 'X-Stream-Protocol-Version';
const ACCEPTED_HEADER = 'X-Accepted-Stream-Protocol-Versions';

/** @throws UpgradeRefused for anything but SPDY/3.1 and WebSocket */
export function upgradeKind({ request }: UpgradeRequest): UpgradeKind {
  const wanted = (request.headers.upgrade ?? '').toLowerCase();
  if (wanted === 'websocket') return 'websocket';
  if (wanted.split(',').some((protocol) => protocol.trim() === 'spdy/3.1')) return 'spdy';
  throw new UpgradeRefused(400, `unable to upgrade: SPDY/3.1 or websocket is expected, not ${JSON.stringify(wanted)}`);
}

/** The first protocol of the client's that is known here. @throws UpgradeRefused when there is none */
export function chooseSpdyProtocol({ request }: UpgradeRequest, known: readonly string[]): string {
  const offered = list(request.headers[PROTOCOL_HEADER.toLowerCase()]);
  if (offered.length === 0) throw new UpgradeRefused(400, `unable to upgrade: the header ${PROTOCOL_HEADER} is missing`);
  const chosen = offered.find((protocol) => known.includes(protocol));
  if (chosen !== undefined) return chosen;
  throw new UpgradeRefused(403, `unable to upgrade: of the protocols ${offered.join(', ')} none is known`, { [ACCEPTED_HEADER]: known.join(', ') });
}

/** As above; '' for a client that names none, where that is allowed. */
export function chooseSubprotocol({ request }: UpgradeRequest, known: readonly string[]): string {
  const offered = list(request.headers['sec-websocket-protocol']);
  const chosen = (offered.length === 0 ? [''] : offered).find((protocol) => known.includes(protocol));
  if (chosen !== undefined) return chosen;
  throw new UpgradeRefused(403, `unable to upgrade: of the protocols ${offered.join(', ') || '(none)'} none is known; known are ${known.join(', ')}`);
}

/** Answers 101; from here on the connection speaks SPDY. */
export function acceptSpdy({ transport }: UpgradeRequest, protocol: string): void {
  transport.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${PROTOCOL_HEADER}: ${protocol}\r\n\r\n`);
}

/** Answers with an error and closes. */
export function refuse({ transport }: UpgradeRequest, refused: UpgradeRefused): void {
  const body = `${refused.message}\n`;
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': String(Buffer.byteLength(body)), Connection: 'close', ...refused.headers };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  transport.end(`HTTP/1.1 ${refused.status} ${REASONS[refused.status]}\r\n${lines.join('')}\r\n${body}`);
}

function list(header: string | string[] | undefined): string[] {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
