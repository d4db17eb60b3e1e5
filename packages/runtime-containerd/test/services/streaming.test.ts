import { status } from '@grpc/grpc-js';
import t from 'tap';
import { newStreamId } from '../../src/index.js';
import { collect, fixture, NAMESPACE, until } from '../support/fixture.js';

const any = (text: string) => ({ typeUrl: 'x', value: Buffer.from(text) });

t.test('a named stream both ways', async (t) => {
  const { fake, client } = await fixture(t);
  const stream = await client.streaming.open('s', { lease: 'l' });
  t.equal(stream.id, 's');
  t.match(fake.control.calls, [{ name: 'streaming.stream', namespace: NAMESPACE, lease: 'l' }]);
  const server = fake.streams.get(NAMESPACE, 's');
  stream.send(any('up'));
  t.same((await server.messages.next()).value?.value.toString(), 'up');
  server.send(any('down'));
  server.end();
  t.same((await collect(stream.messages)).map(({ value }) => Buffer.from(value).toString()), ['down']);
  stream.close();
});

t.test('close ends the stream at both ends', async (t) => {
  const { fake, client } = await fixture(t);
  const stream = await client.streaming.open('s');
  const reading = collect(stream.messages);
  const server = fake.streams.get(NAMESPACE, 's');
  stream.close();
  stream.send(any('too late'));
  t.same(await reading, []);
  t.same(await server.messages.next(), { done: true, value: undefined });
});

t.test('a name serves once', async (t) => {
  const { client } = await fixture(t);
  const stream = await client.streaming.open('s');
  stream.close();
  await t.rejects(client.streaming.open('s'), { code: status.UNKNOWN, details: 'already exists' });
  t.not(newStreamId('auth'), newStreamId('auth'));
  t.match(newStreamId('auth'), /^auth-[0-9a-f-]{36}$/);
});

t.test('a server that does not acknowledge', async (t) => {
  const { fake, client } = await fixture(t, { defaultTimeoutMs: 50 });
  const release = fake.control.hang('streaming.stream');
  await t.rejects(client.streaming.open('s'), { code: status.DEADLINE_EXCEEDED, details: 'stream s was not acknowledged' });
  await t.rejects(client.streaming.open('s', { timeoutMs: 20 }), { code: status.DEADLINE_EXCEEDED });
  release();
  await until(() => fake.control.calls.length === 2, 'both');
});

t.test('without a time limit', async (t) => {
  const { client } = await fixture(t);
  (await client.streaming.open('s', { timeoutMs: 0 })).close();
});
