import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { status } from '@grpc/grpc-js';
import type { DiffService } from '../gen/services/diff/v1/diff.js';
import { mediaTypes } from '../oci/image-spec.js';
import { FakeStatus, invalidArgument, notFound } from './fake-status.js';
import { readFakeLayer } from './fake-image.js';
import type { NamespaceState } from './namespace-state.js';
import type { Handlers } from './serve.js';

/** The diff service, which unpacks the layers of fake images; it makes none. */
export function diffHandlers(stateOf: (namespace: string) => NamespaceState): Handlers<typeof DiffService> {
  return {
    apply({ diff, mounts }, { namespace }) {
      const digest = diff?.digest ?? '';
      const blob = stateOf(namespace).blobs.get(digest);
      if (blob === undefined) throw notFound(`failed to get reader from content store: content digest ${digest}`);
      const [mount, ...more] = mounts;
      if (mount?.type !== 'bind' || more.length > 0) throw invalidArgument('the fake applies to one bind mount');
      const { files, diffId } = readFakeLayer(blob.data);
      layOut(files, mount.source);
      return { applied: { mediaType: mediaTypes.ociLayer, digest: diffId, size: 0n, annotations: {} } };
    },
    diff() {
      throw new FakeStatus(status.UNIMPLEMENTED, 'the fake makes no layers');
    },
  };
}

/** Writes the files of a fake layer. */
export function layOut(files: Readonly<Record<string, string>>, dir: string): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
}
