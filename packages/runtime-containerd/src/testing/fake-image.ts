import { mediaTypes, type ImageRunConfig } from '../oci/image-spec.js';
import { chainId } from '../image/resolve-image.js';
import type { Descriptor, NewImage } from '../services/images.js';
import { sha256 } from './content.js';
import { invalidArgument } from './fake-status.js';

/** What a layer without a real archive begins with; its files follow as JSON. */
const FAKE_LAYER = 'layer ';

/** An image as the fake's registry serves it. */
export interface FakeImageOptions {
  /** What the image config's `config` says. Default: `{ Cmd: ['/bin/sh'] }`. */
  readonly config?: ImageRunConfig;
  /** Files of its one layer, by path without a leading slash: what `snapshots.prepare` then shows. */
  readonly files?: Readonly<Record<string, string>>;
  /** Default `linux/amd64`. */
  readonly platform?: { readonly os: string; readonly architecture: string; readonly variant?: string };
  /** Of the manifest. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Puts the manifest into an index. Default false. */
  readonly index?: boolean;
  /** RFC 3339. Default: the start of 2024. */
  readonly created?: string;
  /** A real layer, an uncompressed tar archive, for an image that goes to a real containerd. */
  readonly layer?: Buffer;
}

export interface FakeImage {
  /** The config's digest: the image's id. */
  readonly id: string;
  /** Index or manifest. */
  readonly target: Descriptor;
  readonly manifestDigest: string;
  readonly chainId: string;
  readonly files: Readonly<Record<string, string>>;
  /** Its documents and layer, lowest first, with the labels by which one keeps the other from garbage collection. */
  readonly blobs: readonly { readonly data: Buffer; readonly digest: string; readonly labels: Readonly<Record<string, string>> }[];
}

/** Builds an image of one layer. Two calls with equal options give the same digests. */
export function fakeImage(options: FakeImageOptions = {}): FakeImage {
  const { config = { Cmd: ['/bin/sh'] }, files = {}, platform = { os: 'linux', architecture: 'amd64' } } = options;
  // Without a real layer there is nothing to unpack: the fake lays out `files` instead.
  const layer = blob(options.layer ?? Buffer.from(`${FAKE_LAYER}${JSON.stringify(files)}`));
  const diffId = options.layer === undefined ? fakeDiffId(files) : sha256(options.layer);
  const layerType = options.layer === undefined ? mediaTypes.ociLayerGzip : mediaTypes.ociLayer;
  const chain = chainId([diffId]);
  const document = { created: options.created ?? '2024-01-01T00:00:00Z', ...platform, config, rootfs: { type: 'layers', diff_ids: [diffId] } };
  const configBlob = blob(json(document));
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    config: { mediaType: mediaTypes.ociConfig, digest: configBlob.digest, size: configBlob.data.length },
    layers: [{ mediaType: layerType, digest: layer.digest, size: layer.data.length }],
    ...(options.annotations === undefined ? {} : { annotations: options.annotations }),
  };
  const manifestBlob = blob(json(manifest), {
    'containerd.io/gc.ref.content.config': configBlob.digest,
    'containerd.io/gc.ref.content.l.0': layer.digest,
  });
  const blobs = [layer, configBlob, manifestBlob];
  let top = { mediaType: mediaTypes.ociManifest as string, ...manifestBlob };
  if (options.index === true) {
    const entry = { mediaType: mediaTypes.ociManifest, digest: manifestBlob.digest, size: manifestBlob.data.length, platform };
    const index = { schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests: [entry] };
    top = { mediaType: mediaTypes.ociIndex, ...blob(json(index), { 'containerd.io/gc.ref.content.m.0': manifestBlob.digest }) };
    blobs.push({ data: top.data, digest: top.digest, labels: top.labels });
  }
  return {
    id: configBlob.digest,
    target: { mediaType: top.mediaType, digest: top.digest, size: BigInt(top.data.length), annotations: {} },
    manifestDigest: manifestBlob.digest,
    chainId: chain,
    files,
    blobs,
  };
}

/** Whether it is a layer of a fake image. */
export function isFakeLayer(data: Uint8Array): boolean {
  return Buffer.from(data).toString('utf8').startsWith(FAKE_LAYER);
}

/** What unpacking a fake layer gives. */
export function readFakeLayer(data: Uint8Array): { readonly files: Readonly<Record<string, string>>; readonly diffId: string } {
  if (!isFakeLayer(data)) throw invalidArgument('not a layer of the fake');
  const text = Buffer.from(data).toString('utf8');
  const files = JSON.parse(text.slice(FAKE_LAYER.length)) as Record<string, string>;
  return { files, diffId: fakeDiffId(files) };
}

function fakeDiffId(files: Readonly<Record<string, string>>): string {
  return sha256(Buffer.from(`unpacked ${JSON.stringify(files)}`));
}

/** The image's record under a name. */
export function fakeImageRecord(name: string, image: FakeImage): NewImage {
  return { name, target: image.target };
}

function blob(data: Buffer, labels: Record<string, string> = {}) {
  return { data, digest: sha256(data), labels };
}

function json(document: object): Buffer {
  return Buffer.from(JSON.stringify(document));
}
