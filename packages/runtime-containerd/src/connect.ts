import type { Containerd } from './containerd.js';
import { Channel, type CallObserver } from './grpc/channel.js';
import { containersService } from './services/containers.js';
import { contentService } from './services/content.js';
import { diffService } from './services/diff.js';
import { eventsService } from './services/events.js';
import { imagesService } from './services/images.js';
import { introspectionService } from './services/introspection.js';
import { leasesService } from './services/leases.js';
import { namespacesService } from './services/namespaces.js';
import { sandboxesService } from './services/sandboxes.js';
import { snapshotsService } from './services/snapshots.js';
import { streamingService } from './services/streaming.js';
import { tasksService } from './services/tasks.js';
import { transferService } from './services/transfer.js';
import { versionService } from './services/version.js';

export interface ConnectOptions {
  /** The socket: `/run/containerd/containerd.sock`, or the same with `unix://` before it. */
  readonly address: string;
  /** containerd's namespace, for example `k8s.io`. */
  readonly namespace: string;
  /** Deadline of calls that give none, in milliseconds; 0 is none. Default 120000, the kubelet's own for a CRI call. */
  readonly defaultTimeoutMs?: number;
  /** Told of every call's start and end, for tracing. */
  readonly observe?: CallObserver;
}

const DEFAULT_TIMEOUT_MS = 120_000;
/** unix(7): `sun_path` with its closing NUL has 108. A longer one would be cut off silently. */
const MAX_SOCKET_PATH = 107;

/**
 * A client of containerd over one connection, which is made at the first call and made again after it was lost (first
 * after 100 ms, then up to every 2 s). While containerd is away calls fail with UNAVAILABLE.
 *
 * @throws TypeError when the address is not that of a unix socket, or too long for one
 */
export function connectContainerd(options: ConnectOptions): Containerd {
  const { address, namespace, defaultTimeoutMs = DEFAULT_TIMEOUT_MS, observe } = options;
  const socketPath = address.replace(/^unix:\/\//, '');
  if (!socketPath.startsWith('/')) {
    throw new TypeError(`containerd address ${JSON.stringify(address)}: expected the absolute path of a unix socket`);
  }
  if (Buffer.byteLength(socketPath) > MAX_SOCKET_PATH) {
    throw new TypeError(`containerd address ${JSON.stringify(address)}: a unix socket's path has at most ${MAX_SOCKET_PATH} bytes`);
  }
  const channel = new Channel({ socketPath, namespace, defaultTimeoutMs, ...(observe === undefined ? {} : { observe }) });
  const content = contentService(channel);
  const streaming = streamingService(channel);
  return {
    namespace,
    version: versionService(channel),
    introspection: introspectionService(channel),
    namespaces: namespacesService(channel),
    leases: leasesService(channel),
    content,
    snapshots: snapshotsService(channel),
    diff: diffService(channel),
    images: imagesService(channel),
    containers: containersService(channel),
    sandboxes: sandboxesService(channel),
    tasks: tasksService(channel),
    events: eventsService(channel),
    transfer: transferService(channel, streaming, content),
    streaming,
    close: () => channel.close(),
  };
}
