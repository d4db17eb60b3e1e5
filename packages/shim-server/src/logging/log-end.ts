import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { RECORD_OVERHEAD_BYTES, STREAM_NAMES, type StreamName } from './record-encoder.js';

const NEWLINE = 10;
/** How far back the last record of a stream is looked for, at least. */
const LOOK_BACK_BYTES = 256 * 1024;
/** A link must not lead elsewhere, nor a FIFO in the file's place hold the open for ever. */
const OPEN_FLAGS = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Looks at what an earlier daemon left at the end of a log, and cuts off half a record: the kernel may end a large write in the middle
 * when the process is killed.
 *
 * @returns the streams whose last record is tagged P. Nothing is cut or found in a file that is absent or cannot be read; opening it tells.
 */
export async function mendLogEnd(path: string, maxLineBytes: number): Promise<Set<StreamName>> {
  const handle = await open(path, OPEN_FLAGS).catch(() => undefined);
  if (handle === undefined) return new Set();
  try {
    return await mend(handle, Math.max(LOOK_BACK_BYTES, 2 * (maxLineBytes + RECORD_OVERHEAD_BYTES)));
  } catch {
    return new Set();
  } finally {
    await handle.close();
  }
}

async function mend(handle: FileHandle, lookBack: number): Promise<Set<StreamName>> {
  const stats = await handle.stat();
  if (!stats.isFile()) return new Set();
  const start = Math.max(0, stats.size - lookBack);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(stats.size - start), 0, stats.size - start, start);
  const tail = buffer.subarray(0, bytesRead);
  const whole = tail.lastIndexOf(NEWLINE) + 1;
  if (whole < tail.length && (whole > 0 || start === 0)) await handle.truncate(start + whole);
  return cutStreams(tail.subarray(0, whole), start === 0);
}

/** @param fromStart whether the first byte begins a record */
function cutStreams(tail: Buffer, fromStart: boolean): Set<StreamName> {
  const cut = new Set<StreamName>();
  const seen = new Set<StreamName>();
  for (let end = tail.length - 1; end > 0 && seen.size < STREAM_NAMES.length; ) {
    const begin = tail.lastIndexOf(NEWLINE, end - 1) + 1;
    if (begin === 0 && !fromStart) break;
    const [, name, tag] = /^\S{30} (stdout|stderr) ([PF]) /.exec(tail.toString('latin1', begin, begin + RECORD_OVERHEAD_BYTES)) ?? [];
    const stream = STREAM_NAMES.find((known) => known === name);
    if (stream !== undefined && !seen.has(stream)) {
      seen.add(stream);
      if (tag === 'P') cut.add(stream);
    }
    end = begin - 1;
  }
  return cut;
}
