import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connectCri } from '@criquet/cri-api';
import { patience } from './environment.js';
import { Daemon, type DaemonExit } from './daemon.js';
import type { Place } from './place.js';

export interface CriquetOptions {
  /** The `criquet` command. */
  readonly program: string;
  /** Arguments before its own, where the program is an interpreter. */
  readonly programArguments?: readonly string[];
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where its socket, state, files, configuration, log and pid file go. */
  readonly directory: string;
  readonly containerdSocket: string;
  readonly cniConfDir: string;
  readonly cniBinDirs: readonly string[];
  readonly hostsDir: string;
  /** Where it runs. Default: the namespaces of this process. */
  readonly place?: Place;
  /** Default: debug. */
  readonly logLevel?: string;
  /** `sandbox_image`. Default: the built-in pause process. */
  readonly sandboxImage?: string;
  /** `containerd.call_timeout`, for example `3s`. Default: criquet's own. */
  readonly callTimeout?: string;
  /** Lines of the configuration file after the harness' own, for example a table `[container]`. */
  readonly extraConfig?: string;
}

/** Its state directory, below that of its node. */
export const CRIQUET_STATE = 'criquet-state';

/** A private `criquet serve`. */
export class Criquet {
  readonly endpoint: string;
  readonly stateDir: string;
  readonly rootDir: string;
  readonly cniCacheDir: string;
  private daemon: Daemon | undefined;
  private program: string;

  private constructor(private readonly options: CriquetOptions) {
    this.program = options.program;
    this.endpoint = `unix://${join(options.directory, 'criquet.sock')}`;
    this.stateDir = join(options.directory, CRIQUET_STATE);
    this.rootDir = join(options.directory, 'criquet-root');
    this.cniCacheDir = join(options.directory, 'cni-cache');
  }

  static async start(options: CriquetOptions): Promise<Criquet> {
    const criquet = new Criquet(options);
    await mkdir(join(options.directory, 'criquet'), { recursive: true });
    await writeFile(criquet.configFile, criquet.config());
    await criquet.start();
    return criquet;
  }

  get pid(): number | undefined {
    return this.daemon?.pid;
  }

  get logFile(): string | undefined {
    return this.daemon?.logFile;
  }

  /**
   * Starts it again after `stop`, with the same places.
   *
   * @param change.program another command, now and later
   * @param change.ready what rejects as long as it does not serve. Default: it answers Version
   */
  async start(change: { program?: string; ready?: () => Promise<void> } = {}): Promise<void> {
    this.program = change.program ?? this.program;
    this.daemon = await this.launch('criquet', change.ready ?? (() => this.answersVersion()));
  }

  private async answersVersion(): Promise<void> {
    using cri = connectCri({ endpoint: this.endpoint });
    await cri.runtime.version({}, { timeoutMs: patience(2_000) });
  }

  /** From the next start on it is another program, as after an upgrade. */
  use(program: string): void {
    this.program = program;
  }

  /** Starts a second daemon on the same places beside the first, which must refuse to serve; rejects with how it ended. */
  async startAnother(): Promise<never> {
    const other = await this.launch('second-criquet', async () => {
      throw new Error('the first one answers in any case');
    });
    await other.stop();
    throw new Error('the second daemon was not refused');
  }

  private launch(name: string, ready: () => Promise<void>): Promise<Daemon> {
    return Daemon.start({
      name,
      program: this.program,
      args: [...(this.options.programArguments ?? []), 'serve', '--config', this.configFile, '--log-level', this.options.logLevel ?? 'debug'],
      directory: this.options.directory,
      ...(this.options.env === undefined ? {} : { env: this.options.env }),
      ...(this.options.place === undefined ? {} : { place: this.options.place }),
      ready,
      readyTimeoutMs: 60_000,
    });
  }

  /** Stops the daemon; containers go on. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<DaemonExit | undefined> {
    return this.daemon?.stop(signal);
  }

  /** SIGKILL, also while it starts. */
  async kill(): Promise<void> {
    const pid = Number(await readFile(join(this.options.directory, 'criquet.pid'), 'utf8'));
    try {
      process.kill(pid, 'SIGKILL');
      // Until it has ended it holds its locks.
      for (;;) {
        process.kill(pid, 0);
        await pause(5);
      }
    } catch {
      // It has ended.
    }
  }

  get configFile(): string {
    return join(this.options.directory, 'criquet', 'config.toml');
  }

  private config(): string {
    const { containerdSocket, cniConfDir, cniBinDirs, hostsDir, sandboxImage = '', callTimeout, extraConfig } = this.options;
    const text = JSON.stringify;
    return `listen = ${text(this.endpoint)}
state_dir = ${text(this.stateDir)}
root_dir = ${text(this.rootDir)}
sandbox_image = ${text(sandboxImage)}

[containerd]
address = ${text(`unix://${containerdSocket}`)}
${callTimeout === undefined ? '' : `call_timeout = ${text(callTimeout)}\n`}
[cni]
conf_dir = ${text(cniConfDir)}
bin_dirs = ${text(cniBinDirs)}
cache_dir = ${text(this.cniCacheDir)}

[image]
hosts_dir = ${text(hostsDir)}
${extraConfig ?? ''}`;
  }
}
