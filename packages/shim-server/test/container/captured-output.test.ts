import { test } from 'tap';
import { CapturedOutput, OutputMemory } from '../../src/container/captured-output.js';

test('both streams share the limit; what is beyond is dropped', (t) => {
  const output = new CapturedOutput(10, new OutputMemory(1000));
  output.add('stdout', Buffer.from('123456'));
  output.add('stderr', Buffer.from('abcdef'));
  output.add('stdout', Buffer.from('789'));
  t.equal(output.take('stdout').toString(), '123456');
  t.equal(output.take('stderr').toString(), 'abcd');
  t.end();
});

test('the reader may use its buffer again', (t) => {
  const output = new CapturedOutput(10, new OutputMemory(1000));
  const buffer = Buffer.from('one');
  output.add('stdout', buffer);
  buffer.write('two');
  output.add('stdout', buffer);
  t.equal(output.take('stdout').toString(), 'onetwo');
  t.end();
});

test('all commands share the memory; what one gives back the next may have', (t) => {
  const memory = new OutputMemory(8);
  const [first, second] = [new CapturedOutput(10, memory), new CapturedOutput(10, memory)];
  first.add('stdout', Buffer.from('123456'));
  second.add('stdout', Buffer.from('abcdef'));
  t.equal(second.take('stdout').toString(), 'ab');
  first.drop();
  first.drop();
  first.add('stdout', Buffer.from('late'));
  t.equal(first.take('stdout').toString(), '');
  second.add('stderr', Buffer.from('0123456789'));
  t.equal(second.take('stderr').toString(), '012345', 'six bytes are free again, once');
  t.end();
});
