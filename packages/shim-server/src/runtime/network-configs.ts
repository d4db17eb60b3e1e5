import { ConfigDirectory, type ConfigState, type NetworkConfigList } from '@criquet/network-cni';
import type { CriquetConfig } from '../config/index.js';

/** The network configurations of the node, and those of the runtime handlers that have a directory of their own; each is followed. */
export class NetworkConfigs {
  private readonly own: ReadonlyMap<string, ConfigDirectory>;

  constructor(
    /** For the pods of every other handler. */
    readonly node: ConfigDirectory,
    { runtime: { handlers } }: CriquetConfig,
  ) {
    this.own = new Map(
      Object.entries(handlers).flatMap(([name, { cniConfDir: dir, cniMaxConfNum: maxLists }]): [string, ConfigDirectory][] =>
        dir === '' ? [] : [[name, new ConfigDirectory({ dir, maxLists })]],
      ),
    );
  }

  /** Those that the pods of a handler are attached to. */
  of(handler: string): ConfigState {
    return (this.own.get(handler) ?? this.node).current();
  }

  /** The handlers with a directory of their own, and what was found in it. */
  ofHandlers(): ReadonlyMap<string, ConfigState> {
    return new Map([...this.own].map(([name, directory]) => [name, directory.current()]));
  }

  /** Every network that is configured, for whatever handler, each name once. */
  all(): NetworkConfigList[] {
    const lists = [this.node, ...this.own.values()].flatMap((directory) => directory.current().lists ?? []);
    return [...new Map(lists.reverse().map((list) => [list.name, list])).values()];
  }

  /** Resolves when every directory was looked at. */
  async start(): Promise<void> {
    await Promise.all([this.node, ...this.own.values()].map((directory) => directory.start()));
  }

  async close(): Promise<void> {
    await Promise.all([this.node, ...this.own.values()].map((directory) => directory.close()));
  }
}
