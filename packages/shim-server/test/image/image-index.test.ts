import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import { status } from '@grpc/grpc-js';
import { ContainerdError, type Containerd, type ImageRecord } from '@criquet/runtime-containerd';
import { fakeImage, fakeImageRecord, type FakeImage } from '@criquet/runtime-containerd/testing';
import { pino } from 'pino';
import { test } from 'tap';
import { defaultConfig } from '../../src/config/index.js';
import { ImageIndex } from '../../src/image/image-index.js';
import type { EventStream } from '../../src/runtime/event-stream.js';

/** containerd's images and content as far as the index uses them, with calls that wait when told to. */
function fakeContainerd() {
  const records = new Map<string, FakeImage>();
  const blobs = new Map<string, Buffer>();
  const snapshots = new Set<string>();
  const held: { list?: Promise<void>; read?: Promise<void> } = {};
  const record = (name: string, image: FakeImage): ImageRecord => ({ labels: {}, createdAt: 1n, updatedAt: 1n, ...fakeImageRecord(name, image) });
  const containerd = {
    images: {
      async list() {
        const found = [...records].map(([name, image]) => record(name, image));
        await held.list;
        return found;
      },
      get(name: string) {
        const image = records.get(name);
        if (image === undefined) return Promise.reject(new ContainerdError(status.NOT_FOUND, 'images.get', name));
        return Promise.resolve(record(name, image));
      },
    },
    content: {
      async readAll(digest: string) {
        await held.read;
        const data = blobs.get(digest);
        if (data === undefined) throw new ContainerdError(status.NOT_FOUND, 'content.read', digest);
        return data;
      },
      async info(digest: string) {
        await Promise.resolve();
        if (!blobs.has(digest)) throw new ContainerdError(status.NOT_FOUND, 'content.info', digest);
      },
    },
    snapshots: {
      async stat(_snapshotter: string, key: string) {
        await Promise.resolve();
        if (!snapshots.has(key)) throw new ContainerdError(status.NOT_FOUND, 'snapshots.stat', key);
      },
    },
  };
  const put = (name: string, image: FakeImage) => {
    records.set(name, image);
    for (const { digest, data } of image.blobs) blobs.set(digest, data);
  };
  const events = new EventEmitter();
  const index = new ImageIndex(containerd as unknown as Containerd, defaultConfig(), pino({ level: 'silent' }), events as unknown as EventStream);
  return { index, put, records, blobs, snapshots, held, events };
}

function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 10));

test('an image that is pulled while an older list is on its way is not forgotten', async (t) => {
  const { index, put, held } = fakeContainerd();
  const image = fakeImage();
  const list = gate();
  held.list = list.opened;
  const loading = index.load();
  put('reg.test/a:1', image);
  await index.refresh('reg.test/a:1');
  list.open();
  await loading;
  t.equal(index.find('reg.test/a:1')?.id, image.id);
});

test('an image that is removed while it is being looked at does not come back', async (t) => {
  const { index, put, records, held, events } = fakeContainerd();
  const image = fakeImage();
  put('reg.test/a:1', image);
  const read = gate();
  held.read = read.opened;
  events.emit('image', { name: 'reg.test/a:1' });
  await settle();
  records.delete('reg.test/a:1');
  events.emit('image', { name: 'reg.test/a:1' });
  await settle();
  read.open();
  await settle();
  t.equal(index.find('reg.test/a:1'), undefined);
  t.same(index.all(), []);
});

test('a tag that moves while its image is being looked at ends where it is', async (t) => {
  const { index, put, held, events } = fakeContainerd();
  const [first, second] = [fakeImage({ files: { a: '1' } }), fakeImage({ files: { a: '2' } })];
  put('reg.test/a:1', first);
  const read = gate();
  held.read = read.opened;
  events.emit('image', { name: 'reg.test/a:1' });
  await settle();
  put('reg.test/a:1', second);
  events.emit('image', { name: 'reg.test/a:1' });
  await settle();
  read.open();
  await settle();
  t.equal(index.find('reg.test/a:1')?.id, second.id);
  t.equal(index.all().length, 1);
});

test('two beginnings of ids are ambiguous: no image', async (t) => {
  const { index, put } = fakeContainerd();
  const image = fakeImage();
  put('reg.test/a:1', image);
  await index.load();
  t.equal(index.find(image.id.slice(7, 19))?.id, image.id);
  t.equal(index.find(image.id.slice(7, 18)), undefined, 'shorter than 12 digits is none');
  t.same(index.names(image.id), ['reg.test/a:1']);
  t.same(index.names('sha256:none'), []);
});

test('I1 an image without a layer is shown as long as it is unpacked, and one that turns out broken goes with all its names', async (t) => {
  const { index, put, blobs, snapshots } = fakeContainerd();
  const image = fakeImage({ files: { a: 'x' } });
  for (const name of ['reg.test/a:1', 'reg.test/b:1']) put(name, image);
  await index.load();
  const { chainId = '' } = index.find('reg.test/a:1') ?? {};
  const layer = image.blobs[0]?.digest ?? '';
  t.not(chainId, '');
  t.ok(blobs.delete(layer));
  snapshots.add(chainId);
  await index.reread('reg.test/a:1');
  t.equal(index.find('reg.test/a:1')?.id, image.id);
  snapshots.clear();
  await index.refresh('reg.test/a:1');
  t.ok(index.find('reg.test/a:1'), 'nothing told');
  await index.reread('reg.test/a:1');
  t.same(index.all(), []);
  put('reg.test/a:1', image);
  await index.refresh('reg.test/a:1');
  t.same(index.find('reg.test/a:1')?.repoTags, ['reg.test/a:1']);
});
