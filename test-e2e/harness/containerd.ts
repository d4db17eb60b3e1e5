import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { containerdConfig, type ContainerdPaths, type CriPluginOptions } from './containerd-config.js';
import { Daemon } from './daemon.js';
import type { Place } from './place.js';
import { run } from './run.js';

export interface ContainerdOptions {
  /** Directory of containerd, its shim and ctr. */
  readonly binDir: string;
  /** Directories put before the PATH, where the shim finds runc. */
  readonly tools: readonly string[];
  /** Where all of its places, its log and its pid file go. */
  readonly directory: string;
  /** Where it runs. Default: the namespaces of this process. */
  readonly place?: Place;
  /** Present: its own CRI plugin serves, as the yardstick. */
  readonly cri?: CriPluginOptions;
}

/** Its state directory, below that of its node. */
export const CONTAINERD_STATE = 'containerd-state';

/** A private containerd. */
export class Containerd {
  readonly paths: ContainerdPaths;
  private daemon: Daemon | undefined;

  private constructor(private readonly options: ContainerdOptions) {
    const { directory } = options;
    this.paths = {
      root: join(directory, 'containerd-root'),
      state: join(directory, CONTAINERD_STATE),
      socket: join(directory, 'containerd.sock'),
    };
  }

  static async start(options: ContainerdOptions): Promise<Containerd> {
    const containerd = new Containerd(options);
    await mkdir(options.directory, { recursive: true });
    await writeFile(containerd.configFile, containerdConfig(containerd.paths, options.cri));
    await containerd.start();
    return containerd;
  }

  get pid(): number | undefined {
    return this.daemon?.pid;
  }

  /**
   * Starts it again after `stop`, with the same places.
   *
   * @param change.ready what rejects as long as it does not serve. Default: it answers `ctr version`
   */
  async start(change: { ready?: () => Promise<void> } = {}): Promise<void> {
    const { binDir, tools, directory, place } = this.options;
    this.daemon = await Daemon.start({
      name: 'containerd',
      program: join(binDir, 'containerd'),
      args: ['--config', this.configFile],
      env: { PATH: [binDir, ...tools, process.env.PATH ?? ''].join(':') },
      directory,
      ...(place === undefined ? {} : { place }),
      ready:
        change.ready ??
        (async () => {
          await this.ctr('version');
        }),
    });
  }

  /** Stops the daemon; shims and containers go on. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.daemon?.stop(signal);
  }

  /** Runs `ctr` and returns its output. */
  async ctr(...args: string[]): Promise<string> {
    return run(join(this.options.binDir, 'ctr'), ['--address', this.paths.socket, ...args], { timeoutMs: 20_000 });
  }

  private get configFile(): string {
    return join(this.options.directory, 'containerd.toml');
  }
}
