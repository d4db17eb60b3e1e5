import { status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { test } from 'tap';
import { invalidArgument } from '../../src/errors.js';
import { Rollback } from '../../src/steps/rollback.js';
import { Steps } from '../../src/steps/steps.js';
import { together } from '../../src/steps/together.js';

function capture() {
  const lines: Record<string, unknown>[] = [];
  return { lines, log: pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) }) };
}

test('undo runs in reverse, each on a deadline of its own', async (t) => {
  const rollback = new Rollback(capture().log);
  const order: string[] = [];
  for (const name of ['first', 'second', 'third']) {
    rollback.add(`undo ${name}`, (signal) => {
      order.push(name);
      t.notOk(signal.aborted);
      return Promise.resolve();
    });
  }
  t.equal(await rollback.run(), true);
  t.same(order, ['third', 'second', 'first']);
  t.equal(await rollback.run(), true, 'once only');
  t.equal(order.length, 3);
});

test('undo stops at the first that fails, and says which', async (t) => {
  const { lines, log } = capture();
  const rollback = new Rollback(log);
  const order: string[] = [];
  rollback.add('remove the record', () => Promise.resolve(void order.push('record')));
  rollback.add('detach the network', () => Promise.reject(new Error('plugin says no')));
  rollback.add('end the process', () => Promise.resolve(void order.push('process')));
  t.equal(await rollback.run(), false);
  t.same(order, ['process'], 'the record that names the network stays');
  t.match(lines, [{ level: 50, undo: 'detach the network', err: 'plugin says no' }]);
});

test('a step has its name in its error, with the code of its cause', async (t) => {
  const { log } = capture();
  const steps = new Steps('Call', { reach: () => undefined }, log);
  t.equal(await steps.do('count', () => 7), 7);
  await t.rejects(steps.do('check', () => Promise.reject(invalidArgument('field', 'is bad'))), { code: status.INVALID_ARGUMENT, message: 'check: field: is bad' });
  await t.rejects(steps.do('fall', () => { throw new Error('ouch'); }), { code: status.INTERNAL, message: 'fall: ouch' });
});

test('failpoints are reached before the step; what is under way can be asked', async (t) => {
  const { lines, log } = capture();
  const order: string[] = [];
  const steps = new Steps('Call', { reach: (place) => void order.push(place) }, log);
  t.equal(steps.current, '');
  let finish!: () => void;
  const one = steps.do('one', () => new Promise<void>((resolve) => (finish = resolve)));
  const two = steps.do('two', () => new Promise<void>(() => undefined));
  two.catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(steps.current, 'one, two');
  finish();
  await one;
  t.equal(steps.current, 'two');
  t.same(order, ['Call/one', 'Call/two']);
  t.match(lines, [{ call: 'Call', step: 'one', failed: false }]);
});

test('together waits for all before it fails', async (t) => {
  t.same(await together(Promise.resolve(1), Promise.resolve('a')), [1, 'a']);
  let ended = false;
  const slow = new Promise<void>((resolve) => setTimeout(() => {
    ended = true;
    resolve();
  }, 20));
  await t.rejects(together(Promise.reject(new Error('first')), slow, Promise.reject(new Error('second'))), { message: 'first' });
  t.ok(ended);
});
