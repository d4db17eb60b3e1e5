import { status } from '@grpc/grpc-js';
import t from 'tap';
import { decodeSpec, isAlreadyExists, isNotFound, runcOptions } from '../../src/index.js';
import { collect, container, fixture, spec } from '../support/fixture.js';

t.test('a record and its life', async (t) => {
  const { client } = await fixture(t);
  const options = runcOptions({ systemdCgroup: true });
  const extension = { typeUrl: 'criquet/sandbox', value: Buffer.from([0, 255, 1]) };
  const made = await client.containers.create(
    container('a', {
      labels: { app: 'x', empty: '' },
      image: 'img',
      runtime: { name: 'io.containerd.runc.v2', options },
      snapshotter: 'overlayfs',
      snapshotKey: 'a',
      extensions: { e: extension },
      sandbox: 's',
    }),
  );
  const read = await client.containers.get('a');
  t.same(read, made);
  t.match(read, { id: 'a', image: 'img', snapshotter: 'overlayfs', snapshotKey: 'a', sandbox: 's' });
  t.same(read.labels, { app: 'x' }, 'containerd keeps no empty label');
  t.same(read.runtime.options && Buffer.from(read.runtime.options.value), Buffer.from(options.value));
  t.same(read.extensions, { e: extension });
  t.same(read.spec && decodeSpec(read.spec), spec);
  t.ok(read.createdAt > 1_700_000_000_000_000_000n && read.createdAt < 4_000_000_000_000_000_000n, 'nanoseconds');

  t.ok(isAlreadyExists(await client.containers.create(container('a')).catch((e: unknown) => e)));
  await client.containers.delete('a');
  t.ok(isNotFound(await client.containers.get('a').catch((e: unknown) => e)));
  t.ok(isNotFound(await client.containers.delete('a').catch((e: unknown) => e)));
});

t.test('updates change what the fields name, and nothing else', async (t) => {
  const { client } = await fixture(t);
  const any = (text: string) => ({ typeUrl: 'x', value: Buffer.from(text) });
  await client.containers.create(container('a', { labels: { one: '1', two: '2' }, image: 'i', extensions: { e: any('1'), f: any('2') } }));
  let record = await client.containers.update({ id: 'a', labels: { one: 'I', three: '3' }, image: 'j' }, ['labels.one']);
  t.same(record.labels, { one: 'I', two: '2' });
  t.equal(record.image, 'i');
  record = await client.containers.update({ id: 'a', labels: { two: '' } }, ['labels.two']);
  t.same(record.labels, { one: 'I' });
  record = await client.containers.update({ id: 'a', labels: { only: 'x' }, image: 'j' }, ['labels', 'image']);
  t.same([record.labels, record.image], [{ only: 'x' }, 'j']);
  record = await client.containers.update({ id: 'a', extensions: { e: any('new') } }, ['extensions.e', 'extensions.none']);
  t.same(record.extensions, { e: any('new'), f: any('2'), none: { typeUrl: '', value: Buffer.alloc(0) } });
  record = await client.containers.update({ id: 'a', extensions: {} }, ['extensions']);
  t.same(record.extensions, {});
  record = await client.containers.update({ id: 'a', spec: any('s') }, ['spec']);
  t.same(record.spec, any('s'));
  t.ok(record.updatedAt > record.createdAt);

  await t.rejects(client.containers.update({ id: 'a', snapshotKey: 'k' }, ['snapshotkey']), { code: status.INVALID_ARGUMENT }, 'no snapshotter');
  await t.rejects(client.containers.update({ id: 'a' }, ['runtime']), { code: status.INVALID_ARGUMENT, details: /cannot update "runtime" field on "a"/ });
  await t.rejects(client.containers.update({ id: 'none' }, ['labels']), { code: status.NOT_FOUND });
  record = await client.containers.update({ ...container('a'), labels: { all: '1' } }, []);
  t.same([record.labels, record.image], [{ all: '1' }, ''], 'no field means all');
});

t.test('lists and streams by filter', async (t) => {
  const { client } = await fixture(t);
  for (const [id, kind] of [['a', 'sandbox'], ['b', 'container'], ['c', '']] as const) {
    await client.containers.create(container(id, { labels: { 'io.cri-containerd.kind': kind }, image: `img-${id}` }));
  }
  const ids = async (...filters: string[]) => {
    const listed = (await client.containers.list(filters)).map(({ id }) => id);
    t.same((await collect(client.containers.stream(filters))).map(({ id }) => id), listed, 'the stream is the list');
    return listed.join('');
  };
  t.equal(await ids(), 'abc');
  t.equal(await ids('labels."io.cri-containerd.kind"==sandbox'), 'a');
  t.equal(await ids('labels."io.cri-containerd.kind"'), 'ab', 'present');
  t.equal(await ids('labels."io.cri-containerd.kind"!=sandbox'), 'bc', 'absent differs');
  t.equal(await ids('id==a', 'id==c'), 'ac', 'any of');
  t.equal(await ids('id==a,image==img-b'), '', 'all of');
  t.equal(await ids('id~=^[ab]$'), 'ab');
  t.equal(await ids('runtime.name==io.containerd.runc.v2,image~=/-c$/'), 'c');
  t.equal(await ids('nonsense'), '');
  await t.rejects(client.containers.list(['==']), { code: status.INVALID_ARGUMENT });
  await t.rejects(collect(client.containers.stream(['=='])), { code: status.INVALID_ARGUMENT, call: 'containers.listStream' });
});

t.test('what containerd refuses', async (t) => {
  const { client } = await fixture(t);
  const refused = { code: status.INVALID_ARGUMENT };
  await t.rejects(client.containers.create(container('a b')), refused, 'id');
  await t.rejects(client.containers.create(container('x'.repeat(77))), refused, 'long id');
  await t.rejects(client.containers.create(container('a', { runtime: { name: '' } })), refused, 'runtime');
  await t.rejects(client.containers.create(container('a', { labels: { k: 'x'.repeat(4096) } })), refused, 'label of 4097 bytes');
  await t.resolves(client.containers.create(container('a', { labels: { k: 'x'.repeat(4095) } })), 'label of 4096 bytes');
});

t.test('a reader that stops early ends the stream', async (t) => {
  const { client } = await fixture(t);
  for (let i = 0; i < 200; i++) await client.containers.create(container(`c${i}`));
  let read = 0;
  for await (const _ of client.containers.stream()) if (++read === 3) break;
  t.equal(read, 3);
  t.equal((await collect(client.containers.stream())).length, 200);
});
