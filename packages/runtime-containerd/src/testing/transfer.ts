import { status } from '@grpc/grpc-js';
import { Kind } from '../gen/services/snapshots/v1/snapshots.js';
import type { TransferRequest, TransferService } from '../gen/services/transfer/v1/transfer.js';
import { ImageStore } from '../gen/types/transfer/imagestore.js';
import { Progress } from '../gen/types/transfer/progress.js';
import { AuthRequest, AuthResponse, OCIRegistry } from '../gen/types/transfer/registry.js';
import { storeBlob } from './content.js';
import { now } from './clock.js';
import { layOut } from './diff.js';
import type { EventExchange } from './events.js';
import type { FakeImage } from './fake-image.js';
import type { FakePullable, FakeRegistry } from './fake-registry.js';
import { FakeStatus, invalidArgument, notFound } from './fake-status.js';
import type { FakeStream, StreamRegistry } from './fake-streaming.js';
import { storeImage } from './images.js';
import type { NamespaceState } from './namespace-state.js';
import type { FakeCall, Handlers } from './serve.js';
import type { SnapshotStore } from './snapshots.js';

export interface TransferParts {
  readonly stateOf: (namespace: string) => NamespaceState;
  readonly streams: StreamRegistry;
  readonly registry: FakeRegistry;
  readonly snapshots: SnapshotStore;
  readonly events: EventExchange;
  /** Snapshotters that the plugin is configured to unpack for. */
  readonly unpackSnapshotters: () => readonly string[];
}

type Report = (event: string, fields?: Partial<Progress>) => void;

/** The transfer service: pulls from the fake's registry into the image store. */
export function transferHandlers(parts: TransferParts): Handlers<typeof TransferService> {
  return {
    async transfer(request, call) {
      const { registry, store } = decode(request);
      const progressId = request.options?.progressStream ?? '';
      const progress = progressId === '' ? undefined : parts.streams.get(call.namespace, progressId);
      try {
        await pull(parts, registry, store, call, reporter(progress));
      } finally {
        progress?.end();
      }
      return {};
    },
  };
}

async function pull(parts: TransferParts, source: OCIRegistry, store: ImageStore, call: FakeCall, report: Report): Promise<void> {
  const { reference, resolver } = source;
  const state = parts.stateOf(call.namespace);
  if (!/[:@][^/]+$/.test(reference)) throw new FakeStatus(status.UNKNOWN, 'failed to resolve image: object required');
  report(`Resolving from OCI Registry (${reference})`);
  const pullable = parts.registry.get(reference);
  const pause = (at: FakePullable['stall']) => (pullable?.stall === at ? stalled(parts.registry, call) : undefined);
  await pause('resolving');
  if (pullable?.auth !== undefined) await authenticate(parts, resolver?.authStream ?? '', reference, pullable.auth, call);
  if (pullable?.error !== undefined) throw new FakeStatus(pullable.error.code, pullable.error.details);
  if (pullable === undefined) throw notFound(`failed to resolve image: ${reference}`);
  const { image } = pullable;
  report(`Pulling from OCI Registry (${reference})`);
  report('fetching image content', { name: reference });
  const [layer, ...documents] = image.blobs;
  const stored = pullable.withoutPlatform === true ? documents.slice(-1) : documents;
  for (const { data, labels } of stored) storeBlob(state, call.lease, data, labels);
  if (pullable.withoutPlatform !== true && layer !== undefined) {
    await download(layer, pullable, report, call, pause);
    storeBlob(state, call.lease, layer.data, layer.labels);
    report('complete', { name: `layer-${layer.digest}`, progress: BigInt(layer.data.length), total: BigInt(layer.data.length) });
    await pause('unpacking');
    for (const { snapshotter } of store.unpacks) {
      if (!parts.unpackSnapshotters().includes(snapshotter)) throw invalidArgument('unable to initialize unpacker: no unpack platforms defined');
      unpack(parts.snapshots, state, call.lease, snapshotter, image);
    }
  }
  const { mediaType, digest, size } = image.target;
  const target = { mediaType, digest, size, annotations: {} };
  storeImage(state, parts.events, { name: store.name, labels: store.labels, target, createdAt: now(), updatedAt: now() });
  report('saved', { name: store.name });
  report(`Completed pull from OCI Registry (${reference})`);
}

async function download(
  { data, digest }: FakeImage['blobs'][number],
  { layerMs = 0 }: FakePullable,
  report: Report,
  call: FakeCall,
  pause: (at: FakePullable['stall']) => Promise<void> | undefined,
): Promise<void> {
  const name = `layer-${digest}`;
  const total = BigInt(data.length);
  report('waiting', { name, total });
  await pause('waiting');
  report('downloading', { name, progress: 1n, total });
  await pause('downloading');
  for (let tenth = 1; layerMs > 0 && tenth <= 10; tenth++) {
    await new Promise<void>((resolve) => {
      setTimeout(resolve, layerMs / 10);
    });
    if (call.signal.aborted) throw new FakeStatus(status.CANCELLED, 'context canceled');
    report('downloading', { name, progress: (total * BigInt(tenth)) / 10n, total });
  }
}

/** Unpacks an image and has its config keep the snapshot, as containerd's unpacker does. */
export function unpack(snapshots: SnapshotStore, state: NamespaceState, lease: string, snapshotter: string, image: FakeImage): void {
  const { chainId, files, id } = image;
  if (!state.snapshotsOf(snapshotter).has(chainId)) {
    const key = `extract-${chainId}`;
    const { dir } = snapshots.create(state, lease, snapshotter, Kind.ACTIVE, key, '', {});
    layOut(files, dir);
    snapshots.commit(state, lease, snapshotter, chainId, key, {});
  }
  const config = image.blobs.find(({ digest }) => digest === id);
  if (config !== undefined) storeBlob(state, lease, config.data, { [`containerd.io/gc.ref.snapshot.${snapshotter}`]: chainId });
}

async function authenticate(
  { streams }: TransferParts,
  authStream: string,
  reference: string,
  { host, accepts = ({ secret }) => secret !== '' }: NonNullable<FakePullable['auth']>,
  { namespace, signal }: FakeCall,
): Promise<void> {
  const refused = new FakeStatus(status.UNKNOWN, `failed to resolve image: unexpected status from HEAD request to https://${host}: 401 Unauthorized`);
  if (authStream === '') throw refused;
  const stream = streams.get(namespace, authStream);
  const question = AuthRequest.fromPartial({ host, reference });
  stream.send({ typeUrl: 'containerd.types.transfer.AuthRequest', value: Buffer.from(AuthRequest.encode(question).finish()) });
  const answer = await Promise.race([stream.messages.next(), aborted(signal)]);
  if (answer === undefined || answer.done) throw new FakeStatus(status.CANCELLED, 'context canceled');
  if (answer.value.typeUrl !== 'containerd.types.transfer.AuthResponse' || !accepts(AuthResponse.decode(answer.value.value))) throw refused;
}

function decode({ source, destination }: TransferRequest): { registry: OCIRegistry; store: ImageStore } {
  if (source?.typeUrl !== 'containerd.types.transfer.OCIRegistry' || destination?.typeUrl !== 'containerd.types.transfer.ImageStore') {
    throw new FakeStatus(status.UNIMPLEMENTED, `transfer from ${source?.typeUrl} to ${destination?.typeUrl}: not implemented`);
  }
  return { registry: OCIRegistry.decode(source.value), store: ImageStore.decode(destination.value) };
}

function reporter(stream: FakeStream | undefined): Report {
  return (event, fields = {}) => {
    const message = Progress.fromPartial({ event, ...fields });
    stream?.send({ typeUrl: 'containerd.types.transfer.Progress', value: Buffer.from(Progress.encode(message).finish()) });
  };
}

async function stalled(registry: FakeRegistry, { signal }: FakeCall): Promise<void> {
  await Promise.race([registry.nextReleased, aborted(signal)]);
  if (signal.aborted) throw new FakeStatus(status.CANCELLED, 'context canceled');
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
