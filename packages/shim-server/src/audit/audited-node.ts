import type { Cni, NetworkConfigList } from '@criquet/network-cni';
import type { Containerd } from '@criquet/runtime-containerd';
import type { CriquetConfig } from '../config/index.js';
import type { Layout } from '../state/layout.js';
import type { NodeRoots } from '../tokens.js';

/** A log that the daemon has open, or a URL that it has given out. */
export interface DaemonHolding {
  /** The sandbox or container that it is for. */
  readonly owner: string;
  readonly name: string;
}

/** What only the running daemon knows: see {@link RuntimeStatus}, `info.holdings`. */
export interface DaemonHoldings {
  readonly logs: readonly DaemonHolding[];
  readonly streamTokens: readonly DaemonHolding[];
}

/** The node that is looked at. */
export interface AuditedNode {
  readonly config: CriquetConfig;
  readonly containerd: Containerd;
  readonly layout: Layout;
  readonly cni: Cni;
  /** The networks that are configured at the moment. */
  readonly networks: () => readonly NetworkConfigList[];
  readonly roots: NodeRoots;
  /** Of the running daemon; empty where there is none. */
  daemonHoldings(signal: AbortSignal): Promise<DaemonHoldings>;
  /** Ends and removes a container or sandbox with all that is known of it; one that is gone is fine. */
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Has the running daemon let go of what it holds for a container or sandbox that is gone. */
  forget(id: string, signal: AbortSignal): Promise<void>;
}
