import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import { Creations } from '../../src/state/creations.js';

const { signal } = new AbortController();

test('a second caller with the same name and configuration joins', async (t) => {
  const creations = new Creations();
  let made = 0;
  let finish!: (id: string) => void;
  const create = () => {
    made += 1;
    return new Promise<string>((resolve) => (finish = resolve));
  };
  const both = [creations.join('pod', 'd', signal, create), creations.join('pod', 'd', signal, create)];
  finish('id-1');
  t.same(await Promise.all(both), ['id-1', 'id-1']);
  t.equal(made, 1);
});

test('another configuration under the same name is refused, and the creation goes on', async (t) => {
  const creations = new Creations();
  let finish!: (id: string) => void;
  const first = creations.join('pod', 'd1', signal, () => new Promise((resolve) => (finish = resolve)));
  await t.rejects(creations.join('pod', 'd2', signal, () => Promise.resolve('id-2')), { code: status.ALREADY_EXISTS });
  finish('id-1');
  t.equal(await first, 'id-1');
});

test('a caller that goes away does not end the creation; the next one gets its result', async (t) => {
  const creations = new Creations();
  const abort = new AbortController();
  let finish!: (id: string) => void;
  const create = () => new Promise<string>((resolve) => (finish = resolve));
  const reason = new Error('deadline');
  const first = creations.join('pod', 'd', abort.signal, create);
  abort.abort(reason);
  await t.rejects(first, reason);
  const second = creations.join('pod', 'd', signal, () => Promise.resolve('another'));
  finish('id-1');
  t.equal(await second, 'id-1');
});

test('after a failure the name is free again', async (t) => {
  const creations = new Creations();
  await t.rejects(creations.join('pod', 'd', signal, () => Promise.reject(new Error('no'))), { message: 'no' });
  t.equal(await creations.join('pod', 'd2', signal, () => Promise.resolve('id-2')), 'id-2');
});

test('names do not hold one another up', async (t) => {
  const creations = new Creations();
  void creations.join('a', 'd', signal, () => new Promise(() => undefined));
  t.equal(await creations.join('b', 'd', signal, () => Promise.resolve('b')), 'b');
});
