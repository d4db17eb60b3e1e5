import t from 'tap';
import { RecordClock } from '../../src/logging/record-clock.js';

const DAY = Date.UTC(2026, 0, 31, 23, 59, 59);

/** A wall clock and a monotonic clock that stand where they are put. */
class Clocks {
  wall = DAY;
  monotonic = 1000;
  readonly clock = new RecordClock(
    () => Math.floor(this.wall),
    () => this.monotonic,
  );
  pass(ms: number): void {
    this.wall += ms;
    this.monotonic += ms;
  }
  read(): string {
    this.clock.read();
    return this.text();
  }
  text(): string {
    return Buffer.from(this.clock.bytes).toString('latin1');
  }
}

void t.test('RFC 3339 in UTC with nanoseconds', (t) => {
  const clocks = new Clocks();
  t.equal(clocks.read(), '2026-01-31T23:59:59.000000000Z');
  clocks.pass(123.5);
  t.equal(clocks.read(), '2026-01-31T23:59:59.123500000Z');
  t.end();
});

void t.test('records of one read differ by a nanosecond, over every border', (t) => {
  const clocks = new Clocks();
  clocks.pass(0.999);
  t.equal(clocks.read(), '2026-01-31T23:59:59.000999000Z');
  for (let i = 0; i < 999; i += 1) clocks.clock.tick();
  t.equal(clocks.text(), '2026-01-31T23:59:59.000999999Z');
  clocks.clock.tick();
  t.equal(clocks.text(), '2026-01-31T23:59:59.001000000Z');
  clocks.pass(998.9999);
  t.match(clocks.read(), /59\.9999/);
  for (let i = 0; i < 2000; i += 1) clocks.clock.tick();
  t.match(clocks.text(), /^2026-02-01T00:00:00\.00000/, 'into the next day');
  t.end();
});

void t.test('a read that comes at once does not go back behind what was counted on', (t) => {
  const clocks = new Clocks();
  clocks.read();
  for (let i = 0; i < 500; i += 1) clocks.clock.tick();
  t.equal(clocks.read(), '2026-01-31T23:59:59.000000501Z');
  clocks.pass(1);
  t.equal(clocks.read(), '2026-01-31T23:59:59.001000000Z');
  t.end();
});

void t.test('the wall clock is followed when it is set, forward and back', (t) => {
  const clocks = new Clocks();
  clocks.read();
  clocks.wall += 3_600_000;
  t.equal(clocks.read(), '2026-02-01T00:59:59.000000000Z');
  clocks.wall -= 7_200_000;
  t.equal(clocks.read(), '2026-01-31T22:59:59.000000000Z');
  t.end();
});

void t.test('the real clocks', (t) => {
  const clock = new RecordClock();
  const before = Date.now();
  clock.read();
  const read = Date.parse(Buffer.from(clock.bytes).toString('latin1'));
  t.ok(Math.abs(read - before) <= 5, `${read} is ${before}`);
  t.end();
});
