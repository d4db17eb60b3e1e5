import type { CriConnection, CriConnectOptions } from '@criquet/cri-api';
import { FakeRuntime } from '@criquet/pod-sync/testing';
import type { Mounter } from '@criquet/pod-sync';
import { Writable } from 'node:stream';
import { runCommand } from '../src/index.js';
import type { CommandContext } from '../src/command-context.js';

/** Collects what is written. */
export class Sink extends Writable {
  text = '';

  override _write(chunk: Buffer | string, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

const noMounts: Mounter = { tmpfs: async () => undefined, bind: async () => undefined, unmount: async () => undefined, below: async () => [] };

/** Runs the command against a runtime in memory. */
export class CommandLine {
  readonly cri = new FakeRuntime();
  readonly connections: CriConnectOptions[] = [];
  readonly interruption = new AbortController();
  closed = 0;
  stdin = '';

  constructor(
    private readonly directory: string,
    private readonly extra: Partial<CommandContext> = {},
  ) {
    this.cri.now = BigInt(Date.now()) * 1_000_000n;
  }

  async run(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const stdout = new Sink();
    const stderr = new Sink();
    const code = await runCommand(words, {
      stdout,
      stderr,
      env: { CRIQUET_PODS_DIR: `${this.directory}/pods-dir`, CRIQUET_LOGS_DIR: `${this.directory}/logs-dir` },
      signal: this.interruption.signal,
      connect: (options) => this.connect(options),
      readStdin: async () => this.stdin,
      mounter: noMounts,
      ...this.extra,
    });
    return { code, stdout: stdout.text, stderr: stderr.text };
  }

  private connect(options: CriConnectOptions): CriConnection {
    this.connections.push(options);
    const close = () => void this.closed++;
    return { runtime: this.cri.runtime, image: this.cri.image, close, [Symbol.dispose]: close };
  }
}

export function manifestText(spec: string, metadata = 'name: p'): string {
  const indented = spec.trim().split('\n').map((line) => `  ${line}`).join('\n');
  return `apiVersion: v1\nkind: Pod\nmetadata: {${metadata}}\nspec:\n${indented}\n`;
}
