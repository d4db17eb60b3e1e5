import { test } from 'tap';
import { ReadBuffers, SMALL_BYTES } from '../../src/task-io/read-buffers.js';

const LARGE = 40_000;

test('a quiet stream has a small buffer; one that fills it gets a large one, until it brings less', (t) => {
  const buffers = new ReadBuffers(LARGE);
  t.equal(buffers.current.length, SMALL_BYTES);
  t.equal(buffers.next(0).length, SMALL_BYTES);
  t.equal(buffers.next(SMALL_BYTES - 1).length, SMALL_BYTES);
  const large = buffers.next(SMALL_BYTES);
  t.equal(large.length, LARGE);
  t.equal(buffers.current, large);
  t.equal(buffers.next(SMALL_BYTES + 1), large);
  t.equal(buffers.next(10).length, SMALL_BYTES);
  t.end();
});

test('a large buffer is for others when what was read into it is not needed any more, and not before', (t) => {
  const [one, other, third] = [new ReadBuffers(LARGE), new ReadBuffers(LARGE), new ReadBuffers(LARGE)];
  const large = one.next(SMALL_BYTES);
  one.release();
  t.not(other.next(SMALL_BYTES), large, 'the next read fills it');
  one.next(1);
  t.not(third.next(SMALL_BYTES), large, 'what was read is still needed');
  one.release();
  one.release();
  third.end();
  t.equal(one.next(SMALL_BYTES).length, LARGE);
  const fourth = new ReadBuffers(LARGE).next(SMALL_BYTES);
  t.ok(fourth === large || one.current === large, 'given on, once');
  t.not(fourth, one.current);
  t.end();
});

test('where a read brings no more than a small buffer there is no other', (t) => {
  const buffers = new ReadBuffers(100);
  t.equal(buffers.current.length, 100);
  t.equal(buffers.next(100), buffers.current);
  t.equal(buffers.current.length, 100);
  t.end();
});
