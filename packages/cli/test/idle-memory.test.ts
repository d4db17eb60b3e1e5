import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { IdleMemory, ownMemory } from '../src/serve/idle-memory.js';

const MB = 1024 * 1024;
const LOOK_MS = 20;

/** A process whose readings a test sets. */
function scripted(t: Test) {
  const state = { resident: 90 * MB, cpu: 0, busy: false, given: 0 };
  const memory = {
    resident: () => state.resident,
    cpu: () => (state.cpu += state.busy ? LOOK_MS : 0),
    giveBack: () => {
      state.given++;
      state.resident -= 10 * MB;
    },
  };
  const idle = new IdleMemory(pino({ level: 'silent' }), memory, LOOK_MS);
  t.teardown(() => idle.stop());
  return { state, looks: (n: number) => pause(n * LOOK_MS + LOOK_MS / 2) };
}

t.test('once after a burst, not again for what it left', async (t) => {
  const { state, looks } = scripted(t);
  await looks(3);
  t.equal(state.given, 1);
  state.resident = 83 * MB;
  await looks(3);
  t.equal(state.given, 1, '3 MB more are not worth it');
  state.resident = 84 * MB;
  await looks(3);
  t.equal(state.given, 2);
});

t.test('never while there is much to do', async (t) => {
  const { state, looks } = scripted(t);
  state.busy = true;
  await looks(5);
  t.equal(state.given, 0);
  state.busy = false;
  await looks(3);
  t.equal(state.given, 1);
});

t.test('it ends', async (t) => {
  const { state, looks } = scripted(t);
  const idle = new IdleMemory(pino({ level: 'silent' }), { resident: () => 90 * MB, cpu: () => 0, giveBack: () => t.fail('called') }, LOOK_MS);
  idle.stop();
  await looks(3);
  t.equal(state.given, 1);
});

t.test('garbage of this process goes', (t) => {
  const memory = ownMemory();
  let garbage: unknown[] | undefined = Array.from({ length: 1_000_000 }, (_, i) => ({ i }));
  const full = process.memoryUsage().heapUsed;
  t.ok(garbage.length > 0);
  garbage = undefined;
  memory.giveBack();
  t.ok(process.memoryUsage().heapUsed < full - 20 * MB, `${full} -> ${process.memoryUsage().heapUsed}`);
  t.ok(memory.resident() > 10 * MB);
  const before = memory.cpu();
  const end = performance.now() + 60;
  while (performance.now() < end);
  t.ok(memory.cpu() - before > 20, 'milliseconds');
  t.end();
});
