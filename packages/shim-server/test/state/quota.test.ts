import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import { Quota } from '../../src/state/quota.js';

test('one too many is refused and told which option says so; each key has its own', (t) => {
  const quota = new Quota({ limit: 2, option: 'table.max_things', what: 'too many things' });
  const first = quota.take('a');
  quota.take('a');
  t.throws(() => quota.take('a'), { code: status.RESOURCE_EXHAUSTED, message: 'too many things: table.max_things is 2' });
  t.throws(() => quota.check('a'), { code: status.RESOURCE_EXHAUSTED });
  quota.take('b');
  first();
  first();
  quota.take('a');
  t.throws(() => quota.take('a'), { code: status.RESOURCE_EXHAUSTED }, 'what is given back twice counts once');
  t.end();
});

test('0 is no limit', (t) => {
  const quota = new Quota({ limit: 0, option: 'x', what: 'x' });
  for (let index = 0; index < 10_000; index++) quota.take();
  t.end();
});
