import 'reflect-metadata';
import { test } from 'tap';
import { LoopTurns } from '../../src/runtime/loop-turns.js';

/** Holds up the event loop, as reading files does. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('many pieces: in order, and the event loop gets its turn between them', async (t) => {
  const turns = new LoopTurns();
  const done: number[] = [];
  let others = 0;
  const other = setInterval(() => (others += 1), 1);
  t.teardown(() => clearInterval(other));
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      turns.run(() => {
        block(1);
        done.push(index);
        return index;
      }),
    ),
  );
  t.same(done, [...done].sort((a, b) => a - b));
  t.same(results, done);
  t.ok(others >= 5, `${others} turns of others in 40 ms of work`);
});

test('nothing is done before run returns, and what fails fails for its caller alone', async (t) => {
  const turns = new LoopTurns();
  let began = false;
  const first = turns.run(() => {
    began = true;
    throw new Error('broken');
  });
  const second = turns.run(() => 'fine');
  t.equal(began, false);
  await t.rejects(first, { message: 'broken' });
  t.equal(await second, 'fine');
  t.equal(await turns.run(() => 'again'), 'again');
});
