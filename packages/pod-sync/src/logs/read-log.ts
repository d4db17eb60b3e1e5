import { open, type FileHandle } from 'node:fs/promises';
import { LogParser, type LogRecord } from './log-record.js';

const CHUNK_BYTES = 64 * 1024;

/** Reads a log file from `offset` to its present end, record by record. */
export async function* readLog(file: FileHandle, offset: number, parser: LogParser): AsyncGenerator<LogRecord, number> {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let position = offset;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return position;
    position += bytesRead;
    yield* parser.push(buffer.subarray(0, bytesRead));
  }
}

/** The records of the last `lines` lines of a log; a line in several parts counts once. */
export async function readLogTail(path: string, lines: number): Promise<LogRecord[]> {
  const file = await open(path, 'r');
  try {
    const offset = await tailOffset(file, lines);
    const records: LogRecord[] = [];
    for await (const record of readLog(file, offset, new LogParser())) records.push(record);
    return records;
  } finally {
    await file.close();
  }
}

/**
 * Where the last `lines` lines of a log begin, found from its end backwards. Parts of a line (tag P) belong to the line that they
 * begin; those of the two streams are told apart by nothing but their tag here, as in the kubelet's own tail.
 */
export async function tailOffset(file: FileHandle, lines: number): Promise<number> {
  const { size } = await file.stat();
  if (lines <= 0) return size;
  let position = size;
  let data: Buffer = Buffer.alloc(0);
  while (position > 0) {
    const length = Math.min(CHUNK_BYTES, position);
    position -= length;
    const chunk = Buffer.alloc(length);
    await file.read(chunk, 0, length, position);
    data = Buffer.concat([chunk, data]);
    const begin = lastLines(data, lines, position === 0);
    if (begin !== undefined) return position + begin;
  }
  return 0;
}

/** Where the last `lines` lines begin in `data`, or undefined when they may begin before it. */
function lastLines(data: Buffer, lines: number, whole: boolean): number | undefined {
  const starts = [...(whole ? [0] : [])];
  for (let at = data.indexOf(0x0a); at >= 0 && at + 1 < data.length; at = data.indexOf(0x0a, at + 1)) starts.push(at + 1);
  let complete = 0;
  for (let index = starts.length - 1; index >= 0; index--) {
    const start = starts[index] ?? 0;
    const end = data.indexOf(0x0a, start);
    if (/^\S+ \S+ F/.test(data.toString('latin1', start, Math.min(start + 64, end < 0 ? data.length : end)))) {
      if (complete === lines) return starts[index + 1];
      complete++;
    }
  }
  return whole ? 0 : undefined;
}
