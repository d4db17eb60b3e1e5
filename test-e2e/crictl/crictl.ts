import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { findTool } from '../harness/environment.js';
import type { TestNode } from '../harness/node.js';
import { tryRun, type RunResult } from '../harness/run.js';

/** A crictl under way. */
export interface CrictlSession {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Its exit code, when it has ended; null after a signal. */
  readonly ended: Promise<number | null>;
  readonly stdout: Promise<string>;
  readonly stderr: Promise<string>;
  /** Resolves when it has printed this on standard output, or has ended. */
  printed(what: string): Promise<void>;
}

/** crictl 1.37 against one node. */
export class Crictl {
  private constructor(
    readonly program: string,
    readonly configFile: string,
  ) {}

  /** Undefined where crictl is not there. */
  static async of(node: TestNode): Promise<Crictl | undefined> {
    const program = await findTool(node.environment, 'crictl');
    if (program === undefined) return undefined;
    const configFile = join(node.directory, 'crictl.yaml');
    await writeFile(configFile, `runtime-endpoint: ${node.endpoint}\nimage-endpoint: ${node.endpoint}\ntimeout: 30\n`);
    return new Crictl(program, configFile);
  }

  /** Runs it to its end; a failure is a result. */
  async attempt(args: readonly string[]): Promise<RunResult> {
    return tryRun(this.program, ['--config', this.configFile, ...args]);
  }

  /** Standard output without the last line's end. Throws when it fails. */
  async run(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.attempt(args);
    if (code !== 0) throw new Error(`crictl ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  }

  async json(...args: string[]): Promise<unknown> {
    return JSON.parse(await this.run(...args)) as unknown;
  }

  /** Runs it with an input, whose end it is given. It is killed after half a minute. */
  async withInput(args: readonly string[], input?: string | Buffer): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const { child, ended, stdout, stderr } = this.start(args);
    child.stdin.end(input);
    const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
    const code = await ended;
    clearTimeout(timer);
    return { code, stdout: await stdout, stderr: await stderr };
  }

  start(args: readonly string[]): CrictlSession {
    const child = spawn(this.program, ['--config', this.configFile, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.on('error', () => undefined);
    const ended = once(child, 'close').then(([code]) => code as number | null);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    const printed = (what: string) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (output.includes(what)) resolve();
        };
        child.stdout.on('data', look);
        child.once('close', () => resolve());
        look();
      });
    return { child, ended, printed, stdout: text(child.stdout), stderr: text(child.stderr) };
  }
}
