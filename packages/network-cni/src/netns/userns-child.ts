import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { getSystemErrorName } from 'node:util';
import { codeOf, StepError } from './step-error.js';

/**
 * The process in which a user and a network namespace are made. It ends with its parent, whatever ends that: the end of its standard
 * input is its own.
 */
export class UsernsChild {
  readonly #process: ChildProcess;
  readonly #input: Writable;
  readonly #output: Readable;
  /** Why it said nothing; resolves when it has ended and its output is read. */
  readonly #ended: Promise<{ code: string; reason: string }>;

  private constructor(program: string) {
    const child = spawn(program, [], { cwd: '/', env: {}, stdio: ['pipe', 'pipe', 'ignore'] });
    [this.#process, this.#input, this.#output] = [child, child.stdin, child.stdout];
    // It may end before it has read what is written to it.
    child.stdin.on('error', () => undefined);
    this.#ended = new Promise((resolve) => {
      child.on('error', (error) => resolve({ code: codeOf(error), reason: error.message }));
      child.on('close', (exitCode, signal) => resolve(endOf(exitCode, signal)));
    });
  }

  /** Starts it and waits until it is in a user namespace of its own, which has no id maps yet. */
  static async start(program: string, uid: number): Promise<UsernsChild> {
    const child = new UsernsChild(program);
    try {
      const id = Buffer.alloc(4);
      new Uint32Array(id.buffer, id.byteOffset, 1)[0] = uid;
      await child.#ask('make the user namespace', id);
      return child;
    } catch (error) {
      await child.end();
      throw error;
    }
  }

  /** Where the kernel tells of it. The process cannot be another one: it is reaped by the event loop, and no one else. */
  get proc(): string {
    return `/proc/${this.#process.pid}`;
  }

  /** Waits until it is in a network namespace of its own, too. */
  async makeNetns(): Promise<void> {
    await this.#ask('unshare', Buffer.alloc(1));
  }

  async end(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }

  async #ask(step: string, message: Buffer): Promise<void> {
    const answered = new Promise<'answered'>((resolve) => this.#output.once('data', () => resolve('answered')));
    this.#input.write(message);
    const outcome = await Promise.race([answered, this.#ended]);
    if (outcome !== 'answered') throw new StepError(step, outcome.code, outcome.reason);
  }
}

/** Its exit code is the errno of what failed. */
function endOf(exitCode: number | null, signal: string | null): { code: string; reason: string } {
  if (exitCode === null || exitCode === 0) return { code: '', reason: `the child process ended (${signal ?? 'code 0'})` };
  const code = getSystemErrorName(-exitCode);
  return { code, reason: `unshare: ${code}` };
}
