import { request as open } from 'node:https';
import { patience } from '../environment.js';

/** What an HTTPS server answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface RequestOptions {
  /** Default: GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds for the whole answer. Default 30 s. */
  readonly timeoutMs?: number;
}

/** Throws unless a server says by status 200 that it is ready. */
export async function expectReady(url: URL, options: RequestOptions = {}): Promise<void> {
  const { status, body } = await request(url, { timeoutMs: 5_000, ...options });
  if (status !== 200) throw new Error(`${url.pathname}: ${status} ${body.toString()}`);
}

/** Asks an HTTPS server of a test's own, whose certificate nobody vouches for. */
export function request(url: URL, options: RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = open(
      url,
      {
        method: options.method ?? 'GET',
        headers: { ...options.headers },
        rejectUnauthorized: false,
        signal: AbortSignal.timeout(patience(options.timeoutMs ?? 30_000)),
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.once('error', reject);
        response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }));
      },
    );
    call.once('error', reject);
    call.end(options.body);
  });
}
