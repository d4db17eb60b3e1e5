import { test } from 'tap';
import { CapturedOutput } from '../../src/container/captured-output.js';

test('both streams share the limit; what is beyond is dropped', (t) => {
  const output = new CapturedOutput(10);
  output.add('stdout', Buffer.from('123456'));
  output.add('stderr', Buffer.from('abcdef'));
  output.add('stdout', Buffer.from('789'));
  t.equal(output.take('stdout').toString(), '123456');
  t.equal(output.take('stderr').toString(), 'abcd');
  t.end();
});

test('the reader may use its buffer again', (t) => {
  const output = new CapturedOutput(10);
  const buffer = Buffer.from('one');
  output.add('stdout', buffer);
  buffer.write('two');
  output.add('stdout', buffer);
  t.equal(output.take('stdout').toString(), 'onetwo');
  t.end();
});
