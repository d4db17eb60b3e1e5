import { status } from '@grpc/grpc-js';
import { ContainerdError, type Any, type Containers, type NewContainer } from '@criquet/runtime-containerd';
import { test } from 'tap';
import * as z from 'zod';
import { jsonCodec } from '../../src/state/record-codec.js';
import { RecordStore, type RecordFrame } from '../../src/state/record-store.js';

interface Thing {
  readonly id: string;
  readonly name: string;
  readonly createdAt: bigint;
  readonly value: number;
}

const codec = jsonCodec<Thing>(
  'test.thing',
  z.looseObject({ id: z.string() }),
  (thing) => ({ ...thing, createdAt: String(thing.createdAt) }),
  (plain: Omit<Thing, 'createdAt'> & { createdAt: string }) => ({ ...plain, createdAt: BigInt(plain.createdAt) }),
);
const FRAME = { labels: { a: 'b' }, image: '', runtime: { name: 'r' }, snapshotter: '', snapshotKey: '' } as unknown as RecordFrame;
const thing = (id: string, name = id): Thing => ({ id, name, createdAt: 1n, value: 0 });

/** containerd's containers service as far as the store uses it, with what it was asked. */
function fakeContainers() {
  const stored = new Map<string, NewContainer>();
  const failures: (Error | undefined)[] = [];
  const values: number[] = [];
  const fail = () => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
  };
  const valueOf = (extensions: Readonly<Record<string, Any>> | undefined) => codec.decode(extensions?.['test.thing'] as Any).value;
  const containers = {
    async create(container: NewContainer) {
      await Promise.resolve();
      stored.set(container.id, container);
      fail();
    },
    async update(change: NewContainer) {
      await Promise.resolve();
      values.push(valueOf(change.extensions));
      fail();
      stored.set(change.id, { ...(stored.get(change.id) as NewContainer), ...change });
    },
    async delete(id: string) {
      await Promise.resolve();
      fail();
      if (!stored.delete(id)) throw new ContainerdError(status.NOT_FOUND, 'containers.delete', 'not there');
    },
  };
  return { containers: containers as unknown as Containers, stored, failures, values, valueOf };
}

test('a record is found by id, by a beginning of it, and by name', async (t) => {
  const { containers } = fakeContainers();
  const store = new RecordStore(containers, codec, 'thing', () => undefined);
  await store.insert(thing('abc1', 'one'), FRAME);
  await store.insert(thing('abd2', 'two'), FRAME);
  t.equal(store.get('abc1')?.name, 'one');
  t.equal(store.get('abc'), undefined);
  t.equal(store.find('abc')?.name, 'one');
  t.equal(store.find('zz'), undefined);
  t.equal(store.find(''), undefined);
  t.equal(store.byName('two')?.id, 'abd2');
  t.same(store.all().map(({ id }) => id), ['abc1', 'abd2']);
  t.throws(() => store.find('ab'), { code: status.INVALID_ARGUMENT, message: /beginning of 2 ids/ });
  t.throws(() => store.require(''), { code: status.INVALID_ARGUMENT });
  t.throws(() => store.require('zz'), { code: status.NOT_FOUND, message: /thing "zz"/ });
});

test('update is in containerd when it resolves; writes of one record never overtake one another', async (t) => {
  const { containers, stored, values, valueOf } = fakeContainers();
  const store = new RecordStore(containers, codec, 'thing', () => undefined);
  await store.insert(thing('a'), FRAME);
  await Promise.all([1, 2, 3].map((value) => store.update('a', (record) => ({ ...record, value }))));
  t.equal(store.get('a')?.value, 3);
  t.equal(valueOf(stored.get('a')?.extensions), 3);
  t.same(values.at(-1), 3, 'the last write says what the record is');
});

test('amend is visible at once; a write that fails is told and made good by the next change', async (t) => {
  const { containers, stored, failures, valueOf } = fakeContainers();
  const told: string[] = [];
  const store = new RecordStore(containers, codec, 'thing', (id) => told.push(id));
  await store.insert(thing('a'), FRAME);
  failures.push(new Error('containerd is away'));
  store.amend('a', (record) => ({ ...record, value: 1 }));
  t.equal(store.get('a')?.value, 1);
  await store.update('a', (record) => ({ ...record, createdAt: 2n }));
  t.same(told, ['a']);
  t.equal(valueOf(stored.get('a')?.extensions), 1);
});

test('removal: from containerd and the index; what is gone already is fine; a failed one keeps the record', async (t) => {
  const { containers, stored, failures } = fakeContainers();
  const store = new RecordStore(containers, codec, 'thing', () => undefined);
  await store.insert(thing('a', 'name'), FRAME);
  failures.push(new Error('busy'));
  await t.rejects(store.remove('a'), { message: 'busy' });
  t.equal(store.byName('name')?.id, 'a');
  await store.remove('a');
  t.equal(stored.size, 0);
  t.equal(store.byName('name'), undefined);
  await store.remove('a');
  await t.rejects(store.update('a', (record) => record), { code: status.FAILED_PRECONDITION, message: /removed meanwhile/ });
});

test('an insert whose answer is lost can still be taken back', async (t) => {
  const { containers, stored, failures } = fakeContainers();
  const store = new RecordStore(containers, codec, 'thing', () => undefined);
  failures.push(new Error('answer lost'), new Error('still away'));
  await t.rejects(store.insert(thing('a', 'name'), FRAME), { message: 'answer lost' });
  t.equal(stored.size, 1, 'containerd has it');
  await t.rejects(store.remove('a'), { message: 'still away' });
  t.equal(store.get('a')?.name, 'name', 'it can be found, so that somebody removes it');
  await store.remove('a');
  t.equal(stored.size, 0);
  t.equal(store.get('a'), undefined);
});

test('a newer record under a name keeps it when the older one goes', async (t) => {
  const { containers } = fakeContainers();
  const store = new RecordStore(containers, codec, 'thing', () => undefined);
  await store.insert(thing('a', 'name'), FRAME);
  await store.insert(thing('b', 'name'), FRAME);
  await store.remove('a');
  t.equal(store.byName('name')?.id, 'b');
});
