import type { Containers } from './services/containers.js';
import type { Content } from './services/content.js';
import type { Diff } from './services/diff.js';
import type { Events } from './services/events.js';
import type { Images } from './services/images.js';
import type { Introspection } from './services/introspection.js';
import type { Leases } from './services/leases.js';
import type { Namespaces } from './services/namespaces.js';
import type { SandboxStore } from './services/sandboxes.js';
import type { Snapshots } from './services/snapshots.js';
import type { Streaming } from './services/streaming.js';
import type { Tasks } from './services/tasks.js';
import type { Transfer } from './services/transfer.js';
import type { Version } from './services/version.js';

/** containerd's services over one shared channel, in one namespace. */
export interface Containerd {
  readonly namespace: string;
  readonly version: Version;
  readonly introspection: Introspection;
  readonly namespaces: Namespaces;
  readonly leases: Leases;
  readonly content: Content;
  readonly snapshots: Snapshots;
  readonly diff: Diff;
  readonly images: Images;
  readonly containers: Containers;
  readonly sandboxes: SandboxStore;
  readonly tasks: Tasks;
  readonly events: Events;
  readonly transfer: Transfer;
  readonly streaming: Streaming;
  /** Ends the connection and every call on it. */
  close(): void;
}
