import { connectCri, type CriConnection } from '@criquet/cri-api';
import type { CriquetConfig } from '../config/index.js';
import { livingDaemon, type DaemonIdentity } from '../runtime/daemon-identity.js';
import type { DaemonHoldings } from './audited-node.js';

/** How long the daemon may take to tell what it holds. */
const STATUS_MS = 10_000;

/** The daemon of a configuration, as another process sees it: its lock file, and its CRI socket. */
export class RunningDaemon {
  private connection: CriConnection | undefined;

  constructor(private readonly config: Pick<CriquetConfig, 'stateDir' | 'listen'>) {}

  identity(): Promise<DaemonIdentity | undefined> {
    return livingDaemon(this.config.stateDir);
  }

  /** UUID of the containerd that it works with; undefined where no daemon lives, or one that does not tell. @throws CriCallError when it does not answer */
  async containerd(signal: AbortSignal): Promise<string | undefined> {
    return (await this.told<{ readonly uuid?: string }>('containerd', signal))?.uuid;
  }

  /** Nothing where no daemon lives. @throws CriCallError when it does not answer */
  async holdings(signal: AbortSignal): Promise<DaemonHoldings> {
    return (await this.told<DaemonHoldings>('holdings', signal)) ?? { logs: [], streamTokens: [] };
  }

  /** What the daemon knows of a container or sandbox; nothing to do where none lives. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    if ((await this.identity()) === undefined) return;
    await this.cri.runtime.removeContainer({ containerId: id }, { signal });
    await this.cri.runtime.removePodSandbox({ podSandboxId: id }, { signal });
  }

  close(): void {
    this.connection?.close();
  }

  /** One part of what a verbose Status tells; undefined where no daemon lives, or one that does not tell it. */
  private async told<Part>(part: string, signal: AbortSignal): Promise<Part | undefined> {
    if ((await this.identity()) === undefined) return undefined;
    const { info } = await this.cri.runtime.status({ verbose: true }, { signal, timeoutMs: STATUS_MS });
    const text = info[part];
    return text === undefined ? undefined : (JSON.parse(text) as Part);
  }

  private get cri(): CriConnection {
    this.connection ??= connectCri({ endpoint: this.config.listen });
    return this.connection;
  }
}
