import { pino, stdTimeFunctions, type Logger } from 'pino';
import type { Writable } from 'node:stream';

/** The daemon's log: a JSON object a line with times in RFC 3339, or readable lines when a person looks at it. */
export async function createLogger(level: string, stream: Writable & { readonly isTTY?: boolean }): Promise<Logger> {
  const options = { level, base: null, timestamp: stdTimeFunctions.isoTime };
  if (stream.isTTY !== true) return pino({ ...options, formatters: { level: (label) => ({ level: label }) } }, stream);
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ colorize: true, destination: stream, translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname' }));
}
