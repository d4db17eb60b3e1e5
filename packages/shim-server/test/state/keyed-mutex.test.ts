import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'tap';
import { KeyedMutex, orAbort } from '../../src/state/keyed-mutex.js';

/** A promise and what resolves it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

test('one holder a key, in the order of asking; other keys do not wait', async (t) => {
  const mutex = new KeyedMutex();
  const first = gate();
  const order: string[] = [];
  const a = mutex.run('x', undefined, async () => {
    order.push('a begins');
    await first.opened;
    order.push('a ends');
  });
  const b = mutex.run('x', undefined, async () => void order.push('b'));
  const c = mutex.run('x', undefined, async () => void order.push('c'));
  await mutex.run('y', undefined, async () => void order.push('y'));
  t.same(order, ['a begins', 'y']);
  first.open();
  await Promise.all([a, b, c]);
  t.same(order, ['a begins', 'y', 'a ends', 'b', 'c']);
});

test('the result and the failure of the work are the caller\'s; a failure lets the next one in', async (t) => {
  const mutex = new KeyedMutex();
  t.equal(await mutex.run('x', undefined, () => Promise.resolve(7)), 7);
  await t.rejects(mutex.run('x', undefined, () => Promise.reject(new Error('broken'))), { message: 'broken' });
  t.equal(await mutex.run('x', undefined, () => Promise.resolve(8)), 8);
});

test('a waiter that gives up leaves its place, and nobody overtakes who holds the key', async (t) => {
  const mutex = new KeyedMutex();
  const first = gate();
  const order: string[] = [];
  const holder = mutex.run('x', undefined, async () => {
    await first.opened;
    order.push('holder ends');
  });
  const abort = new AbortController();
  const reason = new Error('no more time');
  const waiter = mutex.run('x', abort.signal, async () => void order.push('waiter'));
  abort.abort(reason);
  await t.rejects(waiter, reason);
  const next = mutex.run('x', undefined, async () => void order.push('next'));
  await turn();
  await turn();
  t.same(order, [], 'the holder still holds it');
  first.open();
  await Promise.all([holder, next]);
  t.same(order, ['holder ends', 'next']);
});

test('work that began is not given up', async (t) => {
  const mutex = new KeyedMutex();
  const first = gate();
  const abort = new AbortController();
  const holder = mutex.run('x', abort.signal, async () => {
    await first.opened;
    return 'done';
  });
  await turn();
  abort.abort(new Error('too late'));
  first.open();
  t.equal(await holder, 'done');
});

test('orAbort: the promise, or the signal\'s reason, and no listener left behind', async (t) => {
  const { signal } = new AbortController();
  t.equal(await orAbort(Promise.resolve(1), signal), 1);
  t.equal(await orAbort(Promise.resolve(2), undefined), 2);
  const reason = new Error('gone');
  await t.rejects(orAbort(new Promise(() => undefined), AbortSignal.abort(reason)), reason);
  const abort = new AbortController();
  const waiting = orAbort(new Promise(() => undefined), abort.signal);
  abort.abort(reason);
  await t.rejects(waiting, reason);
});

test('orAbort with a signal that has aborted already: the reason at once, and a failure that comes later ends nothing', async (t) => {
  const unhandled: unknown[] = [];
  const hear = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', hear);
  t.teardown(() => process.off('unhandledRejection', hear));
  const failing = new Promise<never>((_, reject) => setImmediate(() => reject(new Error('late'))));
  await t.rejects(orAbort(failing, AbortSignal.abort(new Error('gone'))), { message: 'gone' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.same(unhandled, []);
});
