import { getEventListeners } from 'node:events';
import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import { TimeLimit } from '../../src/container/time-limit.js';

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;
const aborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener('abort', resolve));

test('the limit ends the work, and takes itself back', async (t) => {
  const caller = new AbortController();
  const limit = new TimeLimit(1n, caller.signal);
  t.notOk(limit.passed());
  const before = performance.now();
  await aborted(limit.signal);
  t.ok(performance.now() - before > 900);
  t.ok(limit.passed());
  t.match(limit.signal.reason, { name: 'TimeoutError' });
  t.equal(listeners(caller.signal), 0);
  t.match(limit.error(limit.signal.reason), { code: status.DEADLINE_EXCEEDED, message: 'the command did not end within 1 s and was killed' });
  caller.abort('gone');
  t.notOk(limit.passed(), 'nobody is there to be told');
});

test('the caller ends the work with its reason', (t) => {
  const before = timers();
  const caller = new AbortController();
  const limit = new TimeLimit(100n, caller.signal);
  t.equal(timers(), before + 1);
  const reason = new Error('gone');
  caller.abort(reason);
  t.equal(limit.signal.reason, reason);
  t.notOk(limit.passed());
  t.equal(timers(), before);
  for (const seconds of [0n, 100n]) {
    const late = new TimeLimit(seconds, caller.signal);
    t.equal(late.signal.reason, reason, 'gone before');
    late.clear();
  }
  t.equal(timers(), before);
  t.end();
});

test('nothing stays of a work that ended before, and of no limit', (t) => {
  const before = timers();
  const caller = new AbortController();
  // More seconds than a timer can wait: it does not end at once.
  for (const seconds of [1n, 2n ** 62n, 0n]) {
    const limit = new TimeLimit(seconds, caller.signal);
    t.notOk(limit.signal.aborted);
    t.equal(listeners(caller.signal), seconds === 0n ? 0 : 1);
    limit.clear();
    t.equal(listeners(caller.signal), 0);
    t.equal(timers(), before);
  }
  t.end();
});
