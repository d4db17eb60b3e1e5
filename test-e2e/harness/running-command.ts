import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { patience } from './environment.js';

export interface CommandEnd {
  /** Null after a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command under way: what it has printed so far, and its input. */
export class RunningCommand {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly end: Promise<CommandEnd>;
  private out = '';
  private err = '';
  private ended = false;

  constructor(
    private readonly program: string,
    private readonly args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ) {
    this.child = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    this.child.stdin.on('error', () => undefined);
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.out += text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.err += text));
    this.end = new Promise((resolve) => {
      this.child.once('error', (error) => {
        this.ended = true;
        resolve({ code: 127, stdout: this.out, stderr: error.message });
      });
      this.child.once('close', (code) => {
        this.ended = true;
        resolve({ code, stdout: this.out, stderr: this.err });
      });
    });
  }

  get stdout(): string {
    return this.out;
  }

  get stderr(): string {
    return this.err;
  }

  write(input: string): void {
    this.child.stdin.write(input);
  }

  closeInput(): void {
    this.child.stdin.end();
  }

  /** Waits until what it has printed, on either output, matches. Throws when it ends or does not within `timeoutMs` (default 20 s). */
  async printed(what: RegExp | string, timeoutMs = 20_000): Promise<RegExpExecArray> {
    const pattern = typeof what === 'string' ? new RegExp(what.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')) : what;
    for (const end = Date.now() + patience(timeoutMs); ; await pause(20)) {
      // Looked at first: what it printed before its end is there then.
      const ended = this.ended;
      const found = pattern.exec(this.out) ?? pattern.exec(this.err);
      if (found !== null) return found;
      if (!ended && Date.now() < end) continue;
      throw new Error(`${this.title} has not printed ${String(pattern)}: ${JSON.stringify({ stdout: this.out, stderr: this.err, ended })}`);
    }
  }

  /** Its end. Killed after `timeoutMs` (default 60 s). */
  async exited(timeoutMs = 60_000): Promise<CommandEnd> {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), patience(timeoutMs));
    try {
      return await this.end;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends it with a signal, by default SIGTERM. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<CommandEnd> {
    this.child.kill(signal);
    return this.exited(10_000);
  }

  private get title(): string {
    return [this.program.split('/').at(-1), ...this.args].join(' ');
  }
}
