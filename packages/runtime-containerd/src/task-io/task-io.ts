import { existsSync, lstatSync, mkdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { mkfifo } from './fifo.js';
import { OutputReader, type OutputOptions, type OutputSink } from './output-reader.js';
import { StdinWriter } from './stdin-writer.js';

const NAMES = ['stdin', 'stdout', 'stderr'];

export interface TaskIoLayout {
  readonly stdin: boolean;
  /** A terminal has one output, stdout. */
  readonly terminal: boolean;
  /** Default true. Without a terminal the runc shim wants both outputs, or neither. */
  readonly output?: boolean;
}

/**
 * The FIFOs of one process, below a directory of its own.
 *
 * The directory should be on a file system in memory: what is made and removed there is made and removed at once, in microseconds, and not by a thread that has to be
 * waited for.
 */
export class TaskIo {
  /** As `tasks.create` and `tasks.exec` want them: '' where there is none. */
  readonly paths: { readonly stdin: string; readonly stdout: string; readonly stderr: string };
  /** The FIFOs that `create` made and nobody has removed here; undefined where what is there must be looked for. */
  private made: readonly string[] | undefined;
  private removed = false;

  private constructor(
    readonly dir: string,
    layout: TaskIoLayout,
  ) {
    const output = layout.output ?? true;
    this.paths = {
      stdin: layout.stdin ? join(dir, 'stdin') : '',
      stdout: output ? join(dir, 'stdout') : '',
      stderr: output && !layout.terminal ? join(dir, 'stderr') : '',
    };
  }

  /**
   * Makes the directory (mode 0700, with its parents) and the FIFOs (0600). When one cannot be made, nothing stays.
   * @throws MkfifoError, or the error of mkdir; EEXIST when the directory is there already
   */
  static async create(dir: string, layout: TaskIoLayout): Promise<TaskIo> {
    makeDirectory(dir);
    const io = new TaskIo(dir, layout);
    const made: string[] = [];
    io.made = made;
    try {
      for (const path of Object.values(io.paths)) {
        if (path === '') continue;
        mkfifo(path, 0o600);
        made.push(path);
      }
    } catch (error) {
      await io.remove();
      throw error;
    }
    return io;
  }

  /** The FIFOs that `create` made earlier. Nothing is looked at: opening one that is gone fails in its reader's `ended`. */
  static attach(dir: string, layout: TaskIoLayout): TaskIo {
    return new TaskIo(dir, layout);
  }

  /** Starts to read one output. @throws RangeError when the process has no such stream */
  openOutput(stream: 'stdout' | 'stderr', sink: OutputSink, options?: OutputOptions): OutputReader {
    return new OutputReader(this.path(stream), sink, options);
  }

  /**
   * The write end of standard input; open it before or after the task is created. While the container must not see an end of
   * input between two writers, keep one open.
   * @throws RangeError when the process has no standard input
   */
  openStdin(): StdinWriter {
    return new StdinWriter(this.path('stdin'));
  }

  /** Removes the FIFOs and leaves their directory; those that are open stay usable. */
  async unlink(): Promise<void> {
    for (const path of this.made ?? Object.values(this.paths)) if (path !== '') ignoring(['ENOENT'], () => unlinkSync(path));
    if (this.made !== undefined) this.made = [];
    return Promise.resolve();
  }

  /**
   * Removes directory and FIFOs; those that are open stay usable. What is known to be gone, or is seen to be, is not tried: an error that is thrown costs more than
   * all else here. Whoever has removed what it created leaves alone what others put in its place.
   */
  async remove(): Promise<void> {
    if (this.removed || (this.made === undefined && lstatSync(this.dir, { throwIfNoEntry: false }) === undefined)) return;
    for (const path of this.made ?? this.found()) ignoring(['ENOENT', 'ENOTDIR'], () => unlinkSync(path));
    const rest = ignoring(['ENOENT', 'ENOTEMPTY', 'ENOTDIR'], () => rmdirSync(this.dir));
    if (rest !== undefined && rest !== 'ENOENT') await rm(this.dir, { recursive: true, force: true });
    this.removed = this.made !== undefined;
  }

  /** Those that there are, also where the layout says otherwise. */
  private found(): string[] {
    return NAMES.map((name) => join(this.dir, name)).filter((path) => existsSync(path));
  }

  private path(stream: 'stdin' | 'stdout' | 'stderr'): string {
    const path = this.paths[stream];
    if (path === '') throw new RangeError(`${this.dir}: no ${stream}`);
    return path;
  }
}

/** Its parents are there in the usual case. */
function makeDirectory(dir: string): void {
  const mode = 0o700;
  if (ignoring(['ENOENT'], () => mkdirSync(dir, { mode })) === undefined) return;
  mkdirSync(join(dir, '..'), { recursive: true, mode });
  mkdirSync(dir, { mode });
}

/** @returns the code of an error that is ignored */
function ignoring(codes: readonly string[], deed: () => void): string | undefined {
  try {
    deed();
    return undefined;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!codes.includes(code)) throw error;
    return code;
  }
}
