import { constants } from 'node:fs';
import { open, readdir, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { RECORD_OVERHEAD_BYTES, STREAM_NAMES, type StreamName } from './record-encoder.js';

const NEWLINE = 10;
/** How far back the last record of a stream is looked for, at least. */
const LOOK_BACK_BYTES = 256 * 1024;
/** A link must not lead elsewhere, nor a FIFO in the file's place hold the open for ever. */
const OPEN_FLAGS = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The end of a rotated log's name, as the kubelet gives it. */
const ROTATED = /\.\d{8}-\d{6}$/;

/**
 * Looks at what an earlier daemon left at the end of a log, and cuts off half a record: the kernel may end a large write in the middle
 * when the process is killed. A stream without a record in the file may have its last one in the file that was rotated last.
 *
 * @returns the streams whose last record is tagged P. Nothing is cut or found in a file that is absent or cannot be read; opening it tells.
 */
export async function mendLogEnd(path: string, maxLineBytes: number): Promise<Set<StreamName>> {
  const lookBack = Math.max(LOOK_BACK_BYTES, 2 * (maxLineBytes + RECORD_OVERHEAD_BYTES));
  const end = await endOf(path, lookBack);
  if (end.whole && end.last.size < STREAM_NAMES.length) {
    const rotated = await lastRotated(path);
    const before = rotated === undefined ? undefined : await endOf(rotated, lookBack);
    for (const [name, tag] of before?.last ?? []) if (!end.last.has(name)) end.last.set(name, tag);
  }
  return new Set([...end.last].filter(([, tag]) => tag === 'P').map(([name]) => name));
}

interface LogEnd {
  /** The tags of the last records. */
  readonly last: Map<StreamName, string>;
  /** All of the file was looked at. */
  readonly whole: boolean;
}

async function endOf(path: string, lookBack: number): Promise<LogEnd> {
  const handle = await open(path, OPEN_FLAGS).catch(() => undefined);
  if (handle === undefined) return { last: new Map(), whole: true };
  try {
    return await mend(handle, lookBack);
  } catch {
    return { last: new Map(), whole: false };
  } finally {
    await handle.close();
  }
}

/** The names sort by time. */
async function lastRotated(path: string): Promise<string | undefined> {
  const names = await readdir(dirname(path)).catch((): string[] => []);
  const base = `${basename(path)}.`;
  const last = names.filter((name) => name.startsWith(base) && ROTATED.test(name)).sort().at(-1);
  return last === undefined ? undefined : join(dirname(path), last);
}

async function mend(handle: FileHandle, lookBack: number): Promise<LogEnd> {
  const stats = await handle.stat();
  if (!stats.isFile()) return { last: new Map(), whole: false };
  const start = Math.max(0, stats.size - lookBack);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(stats.size - start), 0, stats.size - start, start);
  const tail = buffer.subarray(0, bytesRead);
  const end = tail.lastIndexOf(NEWLINE) + 1;
  if (end < tail.length && (end > 0 || start === 0)) await handle.truncate(start + end);
  return { last: lastTags(tail.subarray(0, end), start === 0), whole: start === 0 };
}

/** @param fromStart whether the first byte begins a record */
function lastTags(tail: Buffer, fromStart: boolean): Map<StreamName, string> {
  const last = new Map<StreamName, string>();
  for (let end = tail.length - 1; end > 0 && last.size < STREAM_NAMES.length; ) {
    const begin = tail.lastIndexOf(NEWLINE, end - 1) + 1;
    if (begin === 0 && !fromStart) break;
    const [, name, tag = ''] = /^\S{30} (stdout|stderr) ([PF]) /.exec(tail.toString('latin1', begin, begin + RECORD_OVERHEAD_BYTES)) ?? [];
    const stream = STREAM_NAMES.find((known) => known === name);
    if (stream !== undefined && !last.has(stream)) last.set(stream, tag);
    end = begin - 1;
  }
  return last;
}
