import { setMaxListeners } from 'node:events';
import { watch } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LogParser, type LogRecord } from './log-record.js';
import { readLog, tailOffset } from './read-log.js';

/** How to follow a log. */
export interface FollowLogOptions {
  /** Begin with the last so many lines. Default: at the beginning of the file. */
  readonly tail?: number;
  /** Go on when the end is reached, until `ended` says so. Default: false. */
  readonly follow?: boolean;
  /** Whether nothing more will be written: the container is no longer running. Asked when the end was reached. */
  readonly ended?: () => Promise<boolean>;
  readonly signal?: AbortSignal;
}

/** Longest time between two looks at a file; a change that the watch reports is looked at once. */
const POLL_MS = 500;

/**
 * Yields the records of a container log. A rotated file (renamed away, a new one in its place, as ReopenContainerLog leaves it) is
 * read to its end first, then the new one from its beginning; a truncated one is read from its beginning.
 */
export async function* followLog(path: string, options: FollowLogOptions = {}): AsyncGenerator<LogRecord> {
  const { signal } = options;
  // The logs of many containers may be followed until one signal; each pause takes its listener back, so that many are no leak.
  if (signal !== undefined) setMaxListeners(0, signal);
  let file = await open(path, 'r');
  const watcher = options.follow === true ? watchFile(path) : undefined;
  let parser = new LogParser();
  try {
    let position = options.tail === undefined ? 0 : await tailOffset(file, options.tail);
    for (;;) {
      // Asked before reading: what was written before the end is then certainly read.
      const ended = options.follow !== true || ((await options.ended?.()) ?? false);
      position = yield* readLog(file, position, parser);
      const rotated = await successor(path, file, position);
      if (rotated !== undefined) {
        // What was written between the last read and the rename.
        yield* readLog(file, position, parser);
        await file.close();
        file = rotated;
        parser = new LogParser();
        position = 0;
        continue;
      }
      if (ended || signal?.aborted === true) return;
      await watcher?.changed(signal);
    }
  } finally {
    watcher?.close();
    await file.close();
  }
}

/** The file that stands at the path now, when it is another one or was cut. */
async function successor(path: string, file: FileHandle, position: number): Promise<FileHandle | undefined> {
  const [present, current] = await Promise.all([stat(path).catch(() => undefined), file.stat()]);
  if (present === undefined) return undefined;
  const same = present.ino === current.ino && present.dev === current.dev;
  if (same && current.size >= position) return undefined;
  return open(path, 'r').catch(() => undefined);
}

/** Reports changes in the directory of a file: the file itself is replaced at a rotation. */
function watchFile(path: string) {
  let wake: (() => void) | undefined;
  let dirty = false;
  const watcher = watch(dirname(path), { persistent: false }, () => {
    dirty = true;
    wake?.();
  });
  // The directory may vanish; looking again from time to time goes on.
  watcher.on('error', () => undefined);
  return {
    async changed(signal: AbortSignal | undefined): Promise<void> {
      if (!dirty) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, POLL_MS);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
          signal?.addEventListener('abort', wake, { once: true });
        });
        if (wake !== undefined) signal?.removeEventListener('abort', wake);
      }
      wake = undefined;
      dirty = false;
    },
    close: () => watcher.close(),
  };
}
