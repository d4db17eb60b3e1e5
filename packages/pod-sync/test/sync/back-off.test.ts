import t from 'tap';
import { BackOff } from '../../src/sync/back-off.js';

await t.test('0, 10, 20, 40 … 300 seconds after each failure', async (t) => {
  let now = 1_000_000;
  const backOff = new BackOff(() => now);
  const waits = [];
  for (let i = 0; i < 8; i++) {
    const failedAt = now;
    const wait = backOff.remaining('c', failedAt);
    waits.push(wait / 1000);
    now += wait;
    t.equal(backOff.remaining('c', failedAt), 0);
    backOff.next('c', failedAt);
    now += 100;
  }
  t.same(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
  t.equal(backOff.remaining('other', now), 0);
});

await t.test('what ran well for long begins anew', async (t) => {
  let now = 0;
  const backOff = new BackOff(() => now);
  backOff.next('c', 0);
  backOff.next('c', 0);
  now = 601_000;
  t.equal(backOff.remaining('c', now), 0);
  backOff.next('c', now);
  t.equal(backOff.remaining('c', now), 10_000);
});

await t.test('failures that the caller reports', async (t) => {
  let now = 5000;
  const backOff = new BackOff(() => now);
  t.equal(backOff.lastFailure('i'), undefined);
  backOff.fail('i');
  t.equal(backOff.remaining('i', backOff.lastFailure('i') ?? 0), 10_000);
  now += 10_000;
  backOff.fail('i');
  t.equal(backOff.remaining('i', backOff.lastFailure('i') ?? 0), 20_000);
  backOff.reset('i');
  t.equal(backOff.lastFailure('i'), undefined);
});

await t.test('a clock that is set back: nothing waits until it has caught up', (t) => {
  let now = 10_000_000;
  const backOff = new BackOff(() => now);
  const failedAt = now;
  backOff.next('c', failedAt);
  now -= 3 * 3_600_000;
  t.equal(backOff.remaining('c', failedAt), 0);
  backOff.next('c', failedAt);
  t.equal(backOff.remaining('c', now), 20_000, 'and what fails again waits longer');
  t.end();
});
