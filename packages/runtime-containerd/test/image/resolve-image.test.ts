import { createHash } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import {
  BlobTooLarge,
  chainId,
  ContainerdError,
  hostPlatform,
  isIndex,
  isManifest,
  mediaTypes,
  resolveImage,
  type Descriptor,
  type Platform,
} from '../../src/index.js';

const sha256 = (data: Buffer | string) => `sha256:${createHash('sha256').update(data).digest('hex')}`;
const amd64: Platform = { os: 'linux', architecture: 'amd64', variant: '' };

/** A content store of documents. */
class Store {
  readonly blobs = new Map<string, Buffer>();

  add(document: unknown, mediaType: string) {
    const data = Buffer.from(typeof document === 'string' ? document : JSON.stringify(document));
    this.blobs.set(sha256(data), data);
    return { mediaType, digest: sha256(data), size: data.length };
  }

  image(name: string, platform: object = { os: 'linux', architecture: 'amd64' }) {
    const config = this.add({ ...platform, config: { Cmd: [name] }, rootfs: { type: 'layers', diff_ids: ['sha256:d1', 'sha256:d2'] } }, mediaTypes.ociConfig);
    const layers = [
      { mediaType: mediaTypes.ociLayerGzip, digest: 'sha256:l1', size: 1000, annotations: { a: 'b' } },
      { mediaType: mediaTypes.ociLayerGzip, digest: 'sha256:l2', size: 200 },
    ];
    return { config, ...this.add({ schemaVersion: 2, config, layers }, mediaTypes.ociManifest) };
  }

  readonly content = {
    readAll: async (digest: string) => {
      const blob = this.blobs.get(digest);
      if (blob === undefined) throw new ContainerdError(status.NOT_FOUND, 'content.read', `content ${digest}: not found`);
      return blob;
    },
  };
}

const target = ({ mediaType, digest, size }: { mediaType: string; digest: string; size: number }): Descriptor => ({
  mediaType,
  digest,
  size: BigInt(size),
  annotations: {},
});

const index = (store: Store, manifests: object[], mediaType: string = mediaTypes.ociIndex) => target(store.add({ schemaVersion: 2, manifests }, mediaType));

t.test('a manifest', async (t) => {
  const store = new Store();
  const image = store.image('x');
  const resolved = await resolveImage(store.content, target(image), amd64);
  t.match(resolved, { manifestDigest: image.digest, configDigest: image.config.digest, config: { config: { Cmd: ['x'] } } });
  t.equal(resolved.size, BigInt(1000 + 200 + image.size + image.config.size));
  t.same(resolved.layers, [
    { mediaType: mediaTypes.ociLayerGzip, digest: 'sha256:l1', size: 1000n, annotations: { a: 'b' } },
    { mediaType: mediaTypes.ociLayerGzip, digest: 'sha256:l2', size: 200n, annotations: {} },
  ]);
  t.equal(resolved.chainId, sha256('sha256:d1 sha256:d2'));
});

t.test('chain ids, as the image specification computes them', async (t) => {
  t.equal(chainId([]), '');
  t.equal(chainId(['sha256:a']), 'sha256:a');
  t.equal(chainId(['sha256:a', 'sha256:b', 'sha256:c']), sha256(`${sha256('sha256:a sha256:b')} sha256:c`));
});

t.test('an index: the best that fits', async (t) => {
  const store = new Store();
  const of = (name: string, platform?: object) => ({ ...store.image(name, platform), ...(platform === undefined ? {} : { platform }) });
  const arm = (variant: string) => of(`arm${variant}`, { os: 'linux', architecture: 'arm', variant });
  const manifests = [
    of('attestation', { os: 'unknown', architecture: 'unknown' }),
    of('windows', { os: 'windows', architecture: 'amd64' }),
    of('amd64-v3', { os: 'linux', architecture: 'amd64', variant: 'v3' }),
    of('amd64', { os: 'linux', architecture: 'amd64' }),
    of('arm64', { os: 'linux', architecture: 'arm64', variant: 'v8' }),
    arm('v5'),
    arm('v7'),
    arm('v6'),
  ];
  for (const mediaType of [mediaTypes.ociIndex, mediaTypes.dockerIndex]) {
    const top = index(store, manifests, mediaType);
    const picked = async (platform: Platform) => (await resolveImage(store.content, top, platform)).config.config?.Cmd?.[0];
    t.equal(await picked(amd64), 'amd64');
    t.equal(await picked({ ...amd64, variant: 'v4' }), 'amd64-v3', 'the highest that runs');
    t.equal(await picked({ os: 'linux', architecture: 'arm64', variant: 'v8' }), 'arm64');
    t.equal(await picked({ os: 'linux', architecture: 'arm64', variant: '' }), 'arm64', 'v8 is what arm64 means');
    t.equal(await picked({ os: 'linux', architecture: 'arm', variant: 'v6' }), 'armv6');
    t.equal(await picked({ os: 'linux', architecture: 'arm', variant: '' }), 'armv7');
    t.equal(await picked({ os: 'linux', architecture: 'arm', variant: 'x' }).catch((e: Error) => e.name), 'PlatformMissing');
    const resolved = await resolveImage(store.content, top, amd64);
    const chosen = manifests[3];
    t.equal(resolved.size, top.size + BigInt((chosen?.size ?? 0) + (chosen?.config.size ?? 0) + 1200), 'with the index');
  }
});

t.test('manifests without a platform are judged by their config; indexes may be nested', async (t) => {
  const store = new Store();
  const { config: _, ...plain } = store.image('plain');
  const missing = { mediaType: mediaTypes.ociManifest, digest: 'sha256:none', size: 1 };
  const nested = index(store, [missing, plain]);
  const top = index(store, [
    { mediaType: mediaTypes.ociIndex, digest: 'sha256:other', size: 3 },
    { mediaType: nested.mediaType, digest: nested.digest, size: Number(nested.size), platform: { os: 'linux', architecture: 'amd64' } },
  ]);
  t.match(await resolveImage(store.content, top, amd64), { manifestDigest: plain.digest });

  let deep = target(plain);
  for (let i = 0; i < 5; i++) {
    deep = index(store, [{ mediaType: deep.mediaType, digest: deep.digest, size: Number(deep.size), platform: { os: 'linux', architecture: 'amd64' } }]);
  }
  await t.rejects(resolveImage(store.content, deep, amd64), { name: 'ImageInvalid', message: /nested deeper than 4/ });
});

t.test('nothing for the platform', async (t) => {
  const store = new Store();
  const arm = { ...store.image('a'), platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } };
  const top = index(store, [arm]);
  await t.rejects(resolveImage(store.content, top, amd64), {
    name: 'PlatformMissing',
    digest: top.digest,
    message: `image ${top.digest}: no manifest for linux/amd64; it has linux/arm64/v8`,
  });
  const none = index(store, [{ mediaType: 'x', digest: 'sha256:1', size: 1 }]);
  await t.rejects(resolveImage(store.content, none, amd64), { message: /it has none with a platform$/ });
});

t.test('case I1: a blob deleted by hand', async (t) => {
  const store = new Store();
  const image = store.image('x');
  store.blobs.delete(image.config.digest);
  await t.rejects(resolveImage(store.content, target(image), amd64), {
    name: 'ImageIncomplete',
    digest: image.digest,
    missing: image.config.digest,
    message: `image ${image.digest}: content ${image.config.digest} is missing`,
    cause: { code: status.NOT_FOUND },
  });
  const failing = { readAll: () => Promise.reject(new Error('other')) };
  await t.rejects(resolveImage(failing, target(image), amd64), new Error('other'));
});

t.test('documents that are not what they should be', async (t) => {
  const store = new Store();
  const config = store.add({ os: 'linux', architecture: 'amd64', rootfs: { diff_ids: [] } }, mediaTypes.ociConfig);
  const manifestWith = (configDocument: unknown) => {
    const made = store.add(configDocument, mediaTypes.ociConfig);
    return target(store.add({ config: made, layers: [] }, mediaTypes.ociManifest));
  };
  const table: [Descriptor, RegExp][] = [
    [target(store.add('nonsense', mediaTypes.ociManifest)), /not JSON$/],
    [target(store.add('[]', mediaTypes.ociManifest)), /not a JSON object$/],
    [target(store.add({}, mediaTypes.ociManifest)), /a manifest without a config$/],
    [target(store.add({ config: { ...config, size: -1 } }, mediaTypes.ociManifest)), /a manifest without a config$/],
    [target(store.add({ config, layers: [{ digest: 1 }] }, mediaTypes.ociManifest)), /whose layers are not descriptors$/],
    [target(store.add({ manifests: {} }, mediaTypes.ociIndex)), /an index without a list of manifests$/],
    [target(store.add({}, '')), /media type "" is neither an index nor a manifest$/],
    [target(store.add({ a: 1 }, 'text/html')), /media type text\/html is neither/],
    [manifestWith({ rootfs: { diff_ids: [] } }), /a config without a platform$/],
    [manifestWith({ os: 'linux', architecture: 'amd64' }), /a config without rootfs.diff_ids$/],
    [manifestWith({ os: 'linux', architecture: 'amd64', rootfs: { diff_ids: [1] } }), /a config without rootfs.diff_ids$/],
  ];
  for (const [broken, message] of table) await t.rejects(resolveImage(store.content, broken, amd64), { name: 'ImageInvalid', message });
});

t.test('CVE-2023-25153 a document that is no document but gigabytes: it is not read to its end, and the image cannot be used', async (t) => {
  const store = new Store();
  const config = { mediaType: mediaTypes.ociConfig, digest: `sha256:${'c'.repeat(64)}`, size: 3 * 2 ** 30 };
  const manifest = target(store.add({ config, layers: [] }, mediaTypes.ociManifest));
  const content = {
    readAll: async (digest: string) => {
      if (digest === config.digest) throw new BlobTooLarge(digest, 8 * 2 ** 20);
      return store.content.readAll(digest);
    },
  };
  await t.rejects(resolveImage(content, manifest, amd64), { name: 'ImageInvalid', message: /a document larger than 8388608 bytes/ });
});

t.test('an image without layers', async (t) => {
  const store = new Store();
  const config = store.add({ os: 'linux', architecture: 'amd64', rootfs: {} }, mediaTypes.dockerConfig);
  const manifest = target(store.add({ config }, mediaTypes.dockerManifest));
  t.match(await resolveImage(store.content, manifest), { chainId: '', layers: [], config: { rootfs: { diff_ids: [] } } });
});

t.test('media types and platforms', async (t) => {
  t.same(Object.values(mediaTypes).filter(isIndex), [mediaTypes.ociIndex, mediaTypes.dockerIndex]);
  t.same(Object.values(mediaTypes).filter(isManifest), [mediaTypes.ociManifest, mediaTypes.dockerManifest]);
  t.same(hostPlatform('x64'), { os: 'linux', architecture: 'amd64', variant: '' });
  t.same(hostPlatform('arm64'), { os: 'linux', architecture: 'arm64', variant: 'v8' });
  t.same(hostPlatform('riscv64'), { os: 'linux', architecture: 'riscv64', variant: '' });
  t.equal(hostPlatform().os, 'linux');
});
