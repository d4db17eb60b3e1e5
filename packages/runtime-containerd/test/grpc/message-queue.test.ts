import t from 'tap';
import { MessageQueue } from '../../src/grpc/message-queue.js';
import { fromNanos, toNanos } from '../../src/grpc/timestamp.js';
import { collect } from '../support/fixture.js';

function queue(highWater?: number) {
  const log: string[] = [];
  const flow = { pause: () => void log.push('pause'), resume: () => void log.push('resume') };
  return { log, queue: new MessageQueue<number>(flow, () => void log.push('return'), highWater) };
}

t.test('messages before and after the reader come', async (t) => {
  const { queue: messages } = queue();
  messages.push(1);
  const reading = collect(messages);
  messages.push(2);
  await new Promise(setImmediate);
  messages.push(3);
  messages.end();
  messages.push(4);
  t.same(await reading, [1, 2, 3]);
});

t.test('an error that comes before anybody reads is kept, after what came before it', async (t) => {
  const { queue: messages } = queue();
  messages.push(1);
  messages.end(new Error('broken'));
  messages.end();
  t.same(await messages.next(), { done: false, value: 1 });
  await t.rejects(messages.next(), new Error('broken'));
  await t.rejects(messages.next(), new Error('broken'));
});

t.test('a waiting reader gets the error', async (t) => {
  const { queue: messages } = queue();
  const next = messages.next();
  messages.end(new Error('broken'));
  await t.rejects(next, new Error('broken'));
});

t.test('the source pauses when the queue is long and resumes when it is empty', async (t) => {
  const { queue: messages, log } = queue(2);
  messages.push(1);
  t.same(log, []);
  messages.push(2);
  t.same(log, ['pause']);
  await messages.next();
  t.same(log, ['pause']);
  await messages.next();
  t.same(log, ['pause', 'resume']);
});

t.test('a reader that stops', async (t) => {
  const { queue: messages, log } = queue();
  messages.push(1);
  messages.push(2);
  for await (const message of messages) if (message === 1) break;
  t.same(log, ['return']);
  t.same(await messages.next(), { done: true, value: undefined });
});

t.test('times', async (t) => {
  t.equal(toNanos({ seconds: 1n, nanos: 5 }), 1_000_000_005n);
  t.equal(toNanos(undefined), 0n);
  // Go's time.Time{} on the wire.
  t.equal(toNanos({ seconds: -62135596800n, nanos: 0 }), 0n);
  t.same(fromNanos(1_000_000_005n), { seconds: 1n, nanos: 5 });
  t.same(fromNanos(-1n), { seconds: -1n, nanos: 999_999_999 });
});
