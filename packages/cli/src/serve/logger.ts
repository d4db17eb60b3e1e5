import { pino, stdSerializers, stdTimeFunctions, type Logger } from 'pino';
import type { Writable } from 'node:stream';
import { withSourcePositions } from '../stack/source-positions.js';

/** The daemon's log: a JSON object a line with times in RFC 3339, or readable lines when a person looks at it. */
export async function createLogger(level: string, stream: Writable & { readonly isTTY?: boolean }): Promise<Logger> {
  const options = { level, base: null, timestamp: stdTimeFunctions.isoTime, serializers: { err: serializeError } };
  if (stream.isTTY !== true) return pino({ ...options, formatters: { level: (label) => ({ level: label }) } }, stream);
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ colorize: true, destination: stream, translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname' }));
}

/** As pino does it, with positions in the sources. What is no Error stays as it is. */
function serializeError(error: Error): unknown {
  const shown = stdSerializers.err(error);
  if (error instanceof Error) shown.stack = withSourcePositions(shown.stack);
  return shown;
}
