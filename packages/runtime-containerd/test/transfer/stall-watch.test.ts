import t from 'tap';
import { StallWatch } from '../../src/transfer/stall-watch.js';
import type { PullProgress } from '../../src/index.js';
import { sleep } from '../support/fixture.js';

const message = (event: string, name = ''): PullProgress => ({ event, name, parents: [], progress: 0n, total: 0n });

function watch(t: { teardown(fn: () => void): void }, limitMs = 60) {
  const stalls: (readonly string[])[] = [];
  const watched = new StallWatch({ limitMs, ingested: async () => '', onStall: (awaited) => void stalls.push(awaited) });
  t.teardown(() => watched.stop());
  return { stalls, watched };
}

t.test('the resolution counts from the start', async (t) => {
  const { stalls, watched } = watch(t);
  watched.update(message('Resolving from x'));
  await sleep(150);
  t.same(stalls, [['resolve']]);
});

t.test('each event of a blob', async (t) => {
  const { stalls, watched } = watch(t);
  watched.update(message('Pulling from x'));
  for (const [name, event] of [['a', 'complete'], ['b', 'already exists'], ['c', 'extracting'], ['d', 'extracted']] as const) {
    watched.update(message('waiting', name));
    watched.update(message('downloading', name));
    watched.update(message(event, name));
  }
  await sleep(150);
  t.same(stalls, [], 'nothing is awaited');
  watched.update(message('waiting', 'e'));
  watched.update(message('downloading', 'e'));
  await sleep(150);
  t.same(stalls, [['e']]);
  await sleep(100);
  t.equal(stalls.length, 1, 'told once');
});

t.test('after it is saved nothing is awaited', async (t) => {
  const { stalls, watched } = watch(t);
  watched.update(message('downloading', 'a'));
  watched.update(message('saved', 'img'));
  await sleep(150);
  t.same(stalls, []);
});

t.test('stopped while it looks at the other ingests', async (t) => {
  const stalls: unknown[] = [];
  let answer: (text: string) => void = () => undefined;
  const ingested = () =>
    new Promise<string>((resolve) => {
      answer = resolve;
    });
  const watched = new StallWatch({ limitMs: 40, ingested, onStall: (awaited) => void stalls.push(awaited) });
  watched.update(message('waiting', 'a'));
  await sleep(100);
  watched.stop();
  answer('x');
  await sleep(50);
  t.same(stalls, []);
});
