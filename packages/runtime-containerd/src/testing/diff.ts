import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DiffService } from '../gen/services/diff/v1/diff.js';
import type { Mount } from '../gen/types/mount.js';
import { mediaTypes } from '../oci/image-spec.js';
import { storeBlob } from './content.js';
import { isFakeLayer, readFakeLayer } from './fake-image.js';
import { invalidArgument, notFound } from './fake-status.js';
import type { NamespaceState } from './namespace-state.js';
import type { Handlers } from './serve.js';

/** A layer that the fake has made: text of files by path, null for a file that is deleted. JSON instead of tar. */
type FakeDiff = Record<string, string | null>;

/** The differ, over snapshots that are plain directories: it also unpacks the layers of fake images. */
export function diffHandlers(stateOf: (namespace: string) => NamespaceState): Handlers<typeof DiffService> {
  return {
    diff({ left, right, mediaType, ref, labels }, { namespace, lease }) {
      const state = stateOf(namespace);
      state.checkLease(lease);
      if (mediaType === '' || ref === '') throw invalidArgument('the fake wants a media type and a reference');
      const [before, after] = [files(directory(left)), files(directory(right))];
      const layer: FakeDiff = {};
      for (const [path, text] of after) if (before.get(path) !== text) layer[path] = text;
      for (const path of before.keys()) if (!after.has(path)) layer[path] = null;
      const data = Buffer.from(JSON.stringify(layer));
      const digest = storeBlob(state, lease, data, labels);
      return { diff: { mediaType, digest, size: BigInt(data.length), annotations: {} } };
    },
    apply({ diff, mounts }, { namespace }) {
      const digest = diff?.digest ?? '';
      const blob = stateOf(namespace).blobs.get(digest);
      if (blob === undefined) throw notFound(`failed to get reader from content store: content digest ${digest}`);
      const root = directory(mounts);
      if (!isFakeLayer(blob.data)) {
        layOut(JSON.parse(Buffer.from(blob.data).toString('utf8')) as FakeDiff, root);
        return { applied: diff };
      }
      const { files: ofImage, diffId } = readFakeLayer(blob.data);
      layOut(ofImage, root);
      return { applied: { mediaType: mediaTypes.ociLayer, digest: diffId, size: 0n, annotations: {} } };
    },
  };
}

/** Writes the files of a fake layer, and removes those that it deletes. */
export function layOut(layer: Readonly<FakeDiff>, dir: string): void {
  for (const [path, text] of Object.entries(layer)) {
    if (text === null) {
      rmSync(join(dir, path), { force: true });
      continue;
    }
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
}

function directory([mount, ...more]: readonly Mount[]): string {
  if (mount?.type !== 'bind' || more.length > 0) throw invalidArgument('the fake knows one bind mount');
  return mount.source;
}

function files(root: string): Map<string, string> {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => lstatSync(join(root, path)).isFile());
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}
