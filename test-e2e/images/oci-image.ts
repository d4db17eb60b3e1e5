import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { readFile } from 'node:fs/promises';
import { run } from '../harness/run.js';

/** Bytes under the digest that names them. */
export interface Blob {
  readonly digest: string;
  readonly mediaType: string;
  readonly content: Buffer;
}

export interface Layer {
  readonly blob: Blob;
  /** Digest of the uncompressed tar. */
  readonly diffId: string;
}

/** The part of an OCI image configuration that says how a container runs. */
export interface RunConfig {
  readonly User?: string;
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly WorkingDir?: string;
  readonly StopSignal?: string;
  readonly Volumes?: Readonly<Record<string, object>>;
  readonly Labels?: Readonly<Record<string, string>>;
}

/** What is pushed for one reference: blobs first, then the manifests in order; the last is what the tag names. */
export interface OciImage {
  readonly blobs: readonly Blob[];
  readonly manifests: readonly Blob[];
}

/** `index`: an OCI index of one platform; `manifest`: an OCI manifest alone; `docker`: Docker's schema 2 media types. */
export type ImageForm = 'index' | 'manifest' | 'docker';

const OCI = 'application/vnd.oci.image';
const DOCKER = 'application/vnd.docker';

/** Names processors as images do. */
export function imageArchitecture(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch;
}

/** Packs a directory into a layer. The same content gives the same digest: names sorted, times zero, owner root. */
export async function packLayer(directory: string, scratch: string): Promise<Layer> {
  await run('tar', ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '-C', directory, '-cf', scratch, '.']);
  const tar = await readFile(scratch);
  return {
    diffId: digestOf(tar),
    blob: blob(`${OCI}.layer.v1.tar+gzip`, gzipSync(tar, { level: 6 })),
  };
}

/** Describes an image of some layers. */
export function composeImage(layers: readonly Layer[], config: RunConfig, form: ImageForm = 'index'): OciImage {
  const docker = form === 'docker';
  const configuration = blob(
    docker ? `${DOCKER}.container.image.v1+json` : `${OCI}.config.v1+json`,
    json({
      created: '1970-01-01T00:00:00Z',
      architecture: imageArchitecture(),
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: layers.map((layer) => layer.diffId) },
    }),
  );
  const layerType = docker ? `${DOCKER}.image.rootfs.diff.tar.gzip` : `${OCI}.layer.v1.tar+gzip`;
  const manifestType = docker ? `${DOCKER}.distribution.manifest.v2+json` : `${OCI}.manifest.v1+json`;
  const manifest = blob(
    manifestType,
    json({
      schemaVersion: 2,
      mediaType: manifestType,
      config: descriptor(configuration),
      layers: layers.map((layer) => ({ ...descriptor(layer.blob), mediaType: layerType })),
    }),
  );
  const blobs = [...layers.map((layer) => layer.blob), configuration];
  if (form !== 'index') return { blobs, manifests: [manifest] };
  const index = blob(
    `${OCI}.index.v1+json`,
    json({
      schemaVersion: 2,
      mediaType: `${OCI}.index.v1+json`,
      manifests: [{ ...descriptor(manifest), platform: { os: 'linux', architecture: imageArchitecture() } }],
    }),
  );
  return { blobs, manifests: [manifest, index] };
}

function blob(mediaType: string, content: Buffer): Blob {
  return { digest: digestOf(content), mediaType, content };
}

function descriptor(of: Blob): { mediaType: string; digest: string; size: number } {
  return { mediaType: of.mediaType, digest: of.digest, size: of.content.length };
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
