import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { open, readFile, readlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { Layout } from '../state/layout.js';
import { Token } from '../tokens.js';

/** Of the pid file; what does not need them is blank. */
const TEXT_BYTES = 16;

/**
 * Keeps FIFOs open between an orderly shutdown and the next start.
 *
 * What a container has written and nobody has read lies in the kernel's buffer of its FIFO, which goes with the last open end. A
 * container that ends while no daemon runs would take its last lines with it. So a shutdown leaves behind the pause program, which
 * does nothing, with the FIFOs' read ends; the next daemon opens them itself and ends it.
 */
@scoped(Lifecycle.ContainerScoped)
export class FifoKeeper {
  constructor(
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(Token.PauseProgram) private readonly program: string,
    @inject(Token.Logger) private readonly log: Logger,
  ) {}

  /** Holds FIFOs that the caller still has open; those that are gone are left out. */
  async hold(paths: readonly string[]): Promise<void> {
    const opened = await Promise.all(paths.map((path) => open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)));
    const handles = opened.filter((handle): handle is FileHandle => handle !== undefined);
    if (handles.length === 0) return;
    try {
      const keeper = spawn(this.program, [], {
        stdio: ['ignore', 'ignore', 'ignore', ...handles.map(({ fd }) => fd)],
        detached: true,
        cwd: '/',
        env: {},
      });
      await new Promise<void>((resolve, reject) => {
        keeper.once('spawn', resolve);
        keeper.once('error', reject);
      });
      keeper.unref();
      await this.release();
      await this.note(String(keeper.pid)).catch((error: unknown) => {
        // Nobody would find it.
        keeper.kill('SIGKILL');
        throw error;
      });
      this.log.debug({ pid: keeper.pid, fifos: handles.length }, 'FIFOs are kept open');
    } catch (error) {
      this.log.warn({ err: (error as Error).message }, 'FIFOs cannot be kept open; a container that ends meanwhile loses what was not read');
    } finally {
      await Promise.all(handles.map((handle) => handle.close()));
    }
  }

  /** Ends the one that an earlier daemon left; call it when the FIFOs that count are open again. */
  async release(): Promise<void> {
    const pid = Number(await readFile(this.pidFile, 'utf8').catch(() => ''));
    await this.note('').catch(() => undefined);
    if (!Number.isSafeInteger(pid) || pid <= 1) return;
    // The number may belong to another process by now. An older criquet's program lies elsewhere in the same directory.
    const executable = await readlink(`/proc/${pid}/exe`).catch(() => '');
    if (executable.startsWith(`${dirname(dirname(this.program))}/`)) {
      try {
        process.kill(pid, 'SIGTERM');
      } catch {
        // It has ended by itself.
      }
    }
  }

  /** Laid over what stands there and never cut off: made at the first start, the file has its room when the disk is full. */
  private async note(text: string): Promise<void> {
    const file = await open(this.pidFile, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      await file.write(text.padEnd(TEXT_BYTES), 0);
    } finally {
      await file.close();
    }
  }

  private get pidFile(): string {
    return join(this.layout.stateDir, 'fifo-keeper.pid');
  }
}
