import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { OperationLock } from '../../src/runtime/operation-lock.js';
import { Operation, type OperationOptions } from '../../src/runtime/operation.js';

const operation = (options: OperationOptions = {}): Operation => new Operation('ADD', 'net', options, 5000);

t.test('work of one container keeps its order, also when someone in between gives up', async (t) => {
  const lock = new OperationLock();
  const order: string[] = [];
  const first = lock.shared('a', operation(), async () => {
    order.push('first begins');
    await delay(60);
    order.push('first ends');
  });
  const second = lock.shared('a', operation({ timeoutMs: 10 }), async () => void order.push('second'));
  const third = lock.shared('a', operation(), async () => void order.push('third'));
  await t.rejects(second, { name: 'CniError', failure: 'timeout' });
  await Promise.all([first, third]);
  t.same(order, ['first begins', 'first ends', 'third']);
});

t.test('failed work lets the next one run', async (t) => {
  const lock = new OperationLock();
  await t.rejects(lock.shared('a', operation(), () => Promise.reject(new Error('no'))), { message: 'no' });
  await t.rejects(lock.exclusive(operation(), () => Promise.reject(new Error('no'))), { message: 'no' });
  t.equal(await lock.shared('a', operation(), async () => 1), 1);
  t.equal(await lock.exclusive(operation(), async () => 2), 2);
});

t.test('a waiting exclusive work does not hold new work up; running, it does', async (t) => {
  const lock = new OperationLock();
  const order: string[] = [];
  const long = lock.shared('a', operation(), () => delay(50));
  await delay(5);
  const alone = lock.exclusive(operation(), async () => {
    order.push('alone');
    await delay(30);
    order.push('alone ends');
  });
  await lock.shared('b', operation(), async () => void order.push('b'));
  await long;
  await delay(5);
  await lock.shared('c', operation(), async () => void order.push('c'));
  await alone;
  t.same(order, ['b', 'alone', 'alone ends', 'c']);
});

t.test('an abort ends a wait', async (t) => {
  const lock = new OperationLock();
  const alone = lock.exclusive(operation(), () => delay(60));
  await t.rejects(lock.shared('a', operation({ signal: AbortSignal.timeout(10) }), async () => 1), { name: 'CniError', failure: 'aborted' });
  await t.rejects(lock.exclusive(operation({ signal: AbortSignal.abort() }), async () => 1), { name: 'CniError', failure: 'aborted' });
  await alone;
  t.equal(await lock.shared('a', operation(), async () => 3), 3);
});
