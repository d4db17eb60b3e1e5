import { open } from 'node:fs/promises';
import { readLogTail } from '../logs/read-log.js';
import { ANNOTATION } from '../translate/labels.js';
import type { ContainerRecord } from './pod-record.js';

/** The kubelet reads no more of a termination message file. */
const MAX_MESSAGE_BYTES = 4096;
/** What the kubelet takes of a log instead. */
const MAX_LOG_LINES = 80;
const MAX_LOG_BYTES = 2048;

/**
 * What a container that ended has to say: the runtime's message or, over it, what the container wrote into its termination
 * message file, or the end of its log when it failed, wrote nothing there and asked for that.
 */
export async function terminationMessage(record: ContainerRecord): Promise<string> {
  if (record.state !== 'exited') return record.message;
  const written = record.terminationMessageFile === undefined ? '' : await readStart(record.terminationMessageFile);
  if (written !== '') return written;
  const fallBack = record.annotations[ANNOTATION.terminationMessagePolicy] === 'FallbackToLogsOnError';
  if (!fallBack || record.exitCode === 0) return record.message;
  const lines = await readLogTail(record.logPath, MAX_LOG_LINES).catch(() => []);
  const end = Buffer.concat(lines.map((line) => line.content)).subarray(-MAX_LOG_BYTES).toString('utf8');
  return end === '' ? record.message : end;
}

async function readStart(path: string): Promise<string> {
  try {
    const file = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_MESSAGE_BYTES), 0, MAX_MESSAGE_BYTES, 0);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    // The pod's files are gone, or the runtime is on another machine.
    return '';
  }
}
