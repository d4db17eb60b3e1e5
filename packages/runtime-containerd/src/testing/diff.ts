import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DiffService } from '../gen/services/diff/v1/diff.js';
import type { Mount } from '../gen/types/mount.js';
import { storeBlob } from './content.js';
import { invalidArgument, notFound } from './fake-status.js';
import type { NamespaceState } from './namespace-state.js';
import type { Handlers } from './serve.js';

/** A layer of the fake: text of files by path, null for a file that is deleted. JSON instead of tar. */
type FakeLayer = Record<string, string | null>;

/** The differ, over snapshots that are plain directories. */
export function diffHandlers(stateOf: (namespace: string) => NamespaceState): Handlers<typeof DiffService> {
  return {
    diff({ left, right, mediaType, ref, labels }, { namespace, lease }) {
      const state = stateOf(namespace);
      state.checkLease(lease);
      if (mediaType === '' || ref === '') throw invalidArgument('the fake wants a media type and a reference');
      const [before, after] = [files(directory(left)), files(directory(right))];
      const layer: FakeLayer = {};
      for (const [path, text] of after) if (before.get(path) !== text) layer[path] = text;
      for (const path of before.keys()) if (!after.has(path)) layer[path] = null;
      const data = Buffer.from(JSON.stringify(layer));
      const digest = storeBlob(state, lease, data, labels);
      return { diff: { mediaType, digest, size: BigInt(data.length), annotations: {} } };
    },
    apply({ diff, mounts }, { namespace }) {
      const blob = stateOf(namespace).blobs.get(diff?.digest ?? '');
      if (blob === undefined) throw notFound(`content ${diff?.digest ?? ''}`);
      const root = directory(mounts);
      for (const [path, text] of Object.entries(JSON.parse(blob.data.toString('utf8')) as FakeLayer)) {
        if (text === null) rmSync(join(root, path), { force: true });
        else {
          mkdirSync(dirname(join(root, path)), { recursive: true });
          writeFileSync(join(root, path), text);
        }
      }
      return { applied: diff };
    },
  };
}

function directory([mount]: readonly Mount[]): string {
  if (mount === undefined) throw invalidArgument('no mounts');
  return mount.source;
}

function files(root: string): Map<string, string> {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => lstatSync(join(root, path)).isFile());
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}
