import { status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { test } from 'tap';
import { invalidArgument } from '../../src/errors.js';
import { noFailpoints, type Moment } from '../../src/steps/failpoints.js';
import { allPlaces, type StepOf } from '../../src/steps/registry.js';
import { Rollback } from '../../src/steps/rollback.js';
import { needOf } from '../../src/steps/step-needs.js';
import { Steps } from '../../src/steps/steps.js';
import { together } from '../../src/steps/together.js';

function capture() {
  const lines: Record<string, unknown>[] = [];
  return { lines, log: pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) }) };
}

test('undo runs in reverse, each on a deadline of its own', async (t) => {
  const rollback = Rollback.of('CreateContainer', noFailpoints, capture().log);
  const order: string[] = [];
  for (const name of ['remove the record', 'remove the snapshot', 'remove the checkpoint'] as const) {
    rollback.add(name, (signal) => {
      order.push(name);
      t.notOk(signal.aborted);
      return Promise.resolve();
    });
  }
  t.equal(await rollback.run(), true);
  t.same(order, ['remove the checkpoint', 'remove the snapshot', 'remove the record']);
  t.equal(await rollback.run(), true, 'once only');
  t.equal(order.length, 3);
});

test('undo stops at the first that fails, and says which', async (t) => {
  const { lines, log } = capture();
  const rollback = Rollback.of('RunPodSandbox', noFailpoints, log);
  const order: string[] = [];
  rollback.add('remove the record', () => Promise.resolve(void order.push('record')));
  rollback.add('detach from the pod network', () => Promise.reject(new Error('plugin says no')));
  rollback.add('remove the pause process', () => Promise.resolve(void order.push('process')));
  t.equal(await rollback.run(), false);
  t.same(order, ['process'], 'the record that names the network stays');
  t.match(lines, [{ level: 50, undo: 'detach from the pod network', err: 'plugin says no' }]);
});

test('a step has its name in its error, with the code of its cause', async (t) => {
  const { log } = capture();
  const steps = Steps.of('StopContainer', noFailpoints, log);
  t.equal(await steps.do('kill the container', () => 7), 7);
  await t.rejects(steps.do('kill the container', () => Promise.reject(invalidArgument('field', 'is bad'))), {
    code: status.INVALID_ARGUMENT,
    message: 'kill the container: field: is bad',
  });
  await t.rejects(steps.do('wait for its end', () => { throw new Error('ouch'); }), { code: status.INTERNAL, message: 'wait for its end: ouch' });
});

test('failpoints are reached before and after the deed; what is under way can be asked', async (t) => {
  const { lines, log } = capture();
  const order: string[] = [];
  const steps = Steps.of('StopContainer', { reach: (place, moment) => void order.push(`${moment} ${place}`) }, log);
  t.equal(steps.current, '');
  let finish!: () => void;
  const one = steps.do('kill the container', () => new Promise<void>((resolve) => (finish = resolve)));
  const two = steps.do('wait for its end', () => new Promise<void>(() => undefined));
  two.catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(steps.current, 'kill the container, wait for its end');
  t.same(order, ['before StopContainer/kill the container', 'before StopContainer/wait for its end']);
  finish();
  await one;
  t.equal(steps.current, 'wait for its end');
  t.equal(order.at(-1), 'after StopContainer/kill the container');
  t.match(lines, [{ call: 'StopContainer', step: 'kill the container', failed: false }]);
});

test('what a failpoint throws is the failure of its step; a deed that failed has no "after"', async (t) => {
  const reached: Moment[] = [];
  let done = 0;
  const at = (fatal: Moment) =>
    Steps.of('StopContainer', {
      reach: (_place, moment) => {
        reached.push(moment);
        if (moment === fatal) throw new Error('failpoint');
      },
    }, capture().log);
  await t.rejects(at('before').do('kill the container', () => void (done += 1)), { message: 'kill the container: failpoint' });
  t.equal(done, 0);
  await t.rejects(at('after').do('kill the container', () => void (done += 1)), { message: 'kill the container: failpoint' });
  t.equal(done, 1, 'the effect is there');
  reached.length = 0;
  await t.rejects(at('after').do('kill the container', () => Promise.reject(new Error('refused'))), { message: 'kill the container: refused' });
  t.same(reached, ['before']);
});

test('an undo has failpoints too, and one that throws is an undo that failed', async (t) => {
  const order: string[] = [];
  const rollback = (fatal: string) => {
    const reach = (place: string, moment: Moment) => {
      order.push(`${moment} ${place}`);
      if (order.at(-1) === fatal) throw new Error('failpoint');
    };
    const undo = Rollback.of('StartContainer', { reach }, capture().log);
    undo.add('close the FIFOs', () => Promise.resolve(void order.push('closed')));
    return undo;
  };
  t.equal(await rollback('').run(), true);
  t.same(order, ['before StartContainer/undo: close the FIFOs', 'closed', 'after StartContainer/undo: close the FIFOs']);
  t.equal(await rollback('before StartContainer/undo: close the FIFOs').run(), false);
});

test('the registry: every place once, and a step that is not in it does not compile', async (t) => {
  const places = allPlaces();
  t.equal(new Set(places).size, places.length, 'no step twice in a call');
  t.ok(places.includes('RunPodSandbox/undo: detach from the pod network'));
  t.equal(needOf('RunPodSandbox/undo: detach from the pod network'), 'a pod network');
  t.equal(needOf('StopContainer/kill the container'), undefined);

  const { log } = capture();
  const whole = Steps.of('StopContainer', noFailpoints, log);
  const part: Steps<'kill the container'> = whole;
  await part.do('kill the container', () => undefined);
  // @ts-expect-error a part is not the whole
  const more: Steps<StepOf<'StopContainer'>> = part;
  // @ts-expect-error no step of the call
  await more.do('write the spec', () => undefined);
  // @ts-expect-error no undo of the call
  Rollback.of('RunPodSandbox', noFailpoints, log).add('set the old limits', () => Promise.resolve());
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
