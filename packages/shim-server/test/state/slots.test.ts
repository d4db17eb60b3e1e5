import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'tap';
import { Slots } from '../../src/state/slots.js';

function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

test('as many pulls as there are slots, the others in order', async (t) => {
  const slots = new Slots(2);
  const gates = [gate(), gate(), gate(), gate()];
  const began: number[] = [];
  const pulls = gates.map(({ opened }, index) =>
    slots.run(undefined, async () => {
      began.push(index);
      await opened;
      return index;
    }),
  );
  await turn();
  t.same(began, [0, 1]);
  gates[1]?.open();
  await turn();
  t.same(began, [0, 1, 2]);
  for (const { open } of gates) open();
  t.same(await Promise.all(pulls), [0, 1, 2, 3]);
});

test('0 is no limit', async (t) => {
  const slots = new Slots(0);
  let began = 0;
  const blocked = gate();
  const pulls = Array.from({ length: 50 }, () =>
    slots.run(undefined, () => {
      began += 1;
      return blocked.opened;
    }),
  );
  await turn();
  t.equal(began, 50);
  blocked.open();
  await Promise.all(pulls);
});

test('a pull that fails gives its slot back', async (t) => {
  const slots = new Slots(1);
  await t.rejects(slots.run(undefined, () => Promise.reject(new Error('no'))), { message: 'no' });
  t.equal(await slots.run(undefined, () => Promise.resolve(1)), 1);
});

test('a pull whose caller gives up while it waits leaves the queue', async (t) => {
  const slots = new Slots(1);
  const first = gate();
  const holder = slots.run(undefined, () => first.opened);
  const abort = new AbortController();
  const reason = new Error('gone');
  let ran = false;
  const waiter = slots.run(abort.signal, async () => void (ran = true));
  const last = slots.run(undefined, () => Promise.resolve('last'));
  abort.abort(reason);
  await t.rejects(waiter, reason);
  first.open();
  await holder;
  t.equal(await last, 'last');
  t.notOk(ran);
});

test('a caller that gives up in the moment its turn comes does not take the slot with it', async (t) => {
  for (const order of ['abort first', 'turn first']) {
    const slots = new Slots(1);
    const first = gate();
    const holder = slots.run(undefined, () => first.opened);
    const abort = new AbortController();
    const waiter = slots.run(abort.signal, () => Promise.resolve());
    waiter.catch(() => undefined);
    await turn();
    if (order === 'abort first') {
      abort.abort(new Error('gone'));
      first.open();
    } else {
      first.open();
      await holder;
      abort.abort(new Error('gone'));
    }
    await holder;
    await waiter.catch(() => undefined);
    const after = await Promise.race([slots.run(undefined, () => Promise.resolve('free')), new Promise((resolve) => setTimeout(resolve, 200, 'lost'))]);
    t.equal(after, 'free', order);
  }
});
