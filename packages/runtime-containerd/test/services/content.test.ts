import { createHash } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { BlobTooLarge, isFailedPrecondition, isNotFound } from '../../src/index.js';
import { collect, fixture, NAMESPACE } from '../support/fixture.js';

const sha256 = (data: Buffer) => `sha256:${createHash('sha256').update(data).digest('hex')}`;

t.test('write, read, labels, delete', async (t) => {
  const { client } = await fixture(t);
  const data = Buffer.alloc(3 * 1024 * 1024 + 5, 'abc');
  const digest = sha256(data);
  const written = await client.content.write({ ref: 'r', data, total: data.length, expected: digest, labels: { k: 'v' } });
  t.same(written, { digest, size: BigInt(data.length) });
  t.match(await client.content.info(digest), { digest, size: BigInt(data.length), labels: { k: 'v' } });
  t.ok((await client.content.readAll(digest)).equals(data));
  t.equal(Buffer.concat(await collect(client.content.read(digest, { offset: 1, size: 4 }))).toString(), 'bcab');
  t.equal(Buffer.concat(await collect(client.content.read(digest, { offset: data.length - 2 }))).length, 2);
  t.same(await client.content.statuses(), [], 'no ingest is left');

  t.same((await client.content.update(digest, { x: '1' })).labels, { x: '1' });
  t.same((await client.content.update(digest, { y: '2', z: '3' }, ['labels.y'])).labels, { x: '1', y: '2' });
  t.match(await collect(client.content.list(['labels.y==2'])), [{ digest }]);
  t.same(await collect(client.content.list(['digest==none'])), []);
  await client.content.delete(digest);
  t.ok(isNotFound(await client.content.info(digest).catch((e: unknown) => e)));
});

t.test('parts from an async source, and no data at all', async (t) => {
  const { client } = await fixture(t);
  const parts = async function* () {
    yield Buffer.from('one ');
    yield Buffer.from('two');
  };
  t.same(await client.content.write({ ref: 'r', data: parts() }), { digest: sha256(Buffer.from('one two')), size: 7n });
  t.same(await client.content.write({ ref: 'r', data: [] }), { digest: sha256(Buffer.alloc(0)), size: 0n });
});

t.test('a blob that is there already is success, known before or found at the end', async (t) => {
  const { fake, client } = await fixture(t);
  const data = Buffer.from('hello');
  const digest = sha256(data);
  await client.content.write({ ref: 'r', data });
  const sent = fake.control.calls.length;
  t.same(await client.content.write({ ref: 'r', data, expected: digest }), { digest, size: 5n });
  t.same(await client.content.write({ ref: 'r', data }), { digest, size: 5n });
  t.ok(fake.control.calls.length > sent);
});

t.test('what does not fit is refused and its ingest thrown away', async (t) => {
  const { fake, client } = await fixture(t);
  const wrong = await client.content.write({ ref: 'r', data: Buffer.from('x'), expected: sha256(Buffer.from('y')) }).catch((e: unknown) => e);
  t.ok(isFailedPrecondition(wrong));
  t.ok(isFailedPrecondition(await client.content.write({ ref: 'r', data: Buffer.from('x'), total: 9 }).catch((e: unknown) => e)));
  t.same(await client.content.statuses(), []);
  await t.rejects(client.content.write({ ref: '', data: Buffer.from('x') }), { code: status.INVALID_ARGUMENT });
  const failing = async function* () {
    yield Buffer.from('x');
    throw new Error('source failed');
  };
  await t.rejects(client.content.write({ ref: 'r', data: failing() }, { namespace: 'n' }), new Error('source failed'));
  t.equal(fake.state('n').ingests.size, 0);
});

t.test('a server that ends the stream without an answer', async (t) => {
  const { fake, client } = await fixture(t);
  fake.control.fail('content.write', { code: status.UNAVAILABLE, details: 'ref r locked' });
  await t.rejects(client.content.write({ ref: 'r', data: Buffer.from('x') }), { code: status.UNAVAILABLE, call: 'content.write' });
  t.same(fake.control.requests('content.abort'), [], 'an ingest of somebody else is left alone');
});

t.test('readAll has a limit', async (t) => {
  const { client } = await fixture(t);
  const { digest } = await client.content.write({ ref: 'r', data: Buffer.alloc(100) });
  await t.resolves(client.content.readAll(digest, { maxBytes: 100 }));
  await t.rejects(client.content.readAll(digest, { maxBytes: 99 }), new BlobTooLarge(digest, 99));
  await t.rejects(client.content.readAll('sha256:none'), { code: status.NOT_FOUND });
  await t.rejects(collect(client.content.read(digest, { offset: 101n })), { code: status.OUT_OF_RANGE });
});

t.test('ingests of others', async (t) => {
  const { fake, client } = await fixture(t);
  const time = { seconds: 1n, nanos: 0 };
  const ingest = { ref: 'layer', offset: 3n, total: 9n, expected: 'sha256:1', startedAt: time, updatedAt: time };
  fake.state(NAMESPACE).ingests.set('layer', { status: ingest, data: Buffer.from('abc') });
  const expected = { ref: 'layer', offset: 3n, total: 9n, expected: 'sha256:1', startedAt: 1_000_000_000n, updatedAt: 1_000_000_000n };
  t.same(await client.content.statuses(['ref==layer']), [expected]);
  t.same(await client.content.statuses(['ref==other']), []);
  t.same(await client.content.status('layer'), expected);
  await client.content.abort('layer');
  t.ok(isNotFound(await client.content.status('layer').catch((e: unknown) => e)));
});
