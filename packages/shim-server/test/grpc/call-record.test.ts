import { EventEmitter } from 'node:events';
import { RuntimeServiceService } from '@criquet/cri-api';
import { pino } from 'pino';
import { test } from 'tap';
import { callKind, CallRecord, type AnyCall } from '../../src/grpc/call-record.js';

function call(deadline: number | Date = Infinity) {
  const emitter = Object.assign(new EventEmitter(), { cancelled: false, request: { containerId: 'abc' }, getDeadline: () => deadline });
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  return { emitter, lines, record: new CallRecord(callKind(RuntimeServiceService.startContainer), emitter as unknown as AnyCall, log) };
}

test('a caller that goes away aborts the call', (t) => {
  const { emitter, record } = call();
  const { signal } = record;
  t.equal(signal.aborted, false);
  emitter.emit('cancelled');
  t.match(signal.reason, { name: 'AbortError', message: 'cancelled by the caller' });
  t.end();
});

test('one that went away before anybody asked', (t) => {
  const { emitter, record } = call();
  emitter.cancelled = true;
  t.match(record.signal.reason, { name: 'AbortError', message: 'cancelled by the caller' });
  t.end();
});

test('a deadline that passed', (t) => {
  const { emitter, record } = call(new Date(Date.now() - 100));
  const { signal } = record;
  emitter.emit('cancelled');
  t.match(signal.reason, { name: 'TimeoutError' });
  t.ok(record.deadline < performance.now());
  t.end();
});

test('a call that was answered is cancelled by nobody, though gRPC says so of every call in the end', (t) => {
  const { emitter, record } = call();
  const { signal } = record;
  record.end();
  emitter.emit('cancelled');
  t.equal(signal.aborted, false, 'work that others share goes on');
  t.end();
});

test('nothing listens for the end of a call whose signal nobody wants', (t) => {
  const { emitter, record, lines } = call();
  record.end();
  t.equal(emitter.listenerCount('cancelled'), 0);
  t.match(JSON.parse(lines[0] ?? '{}'), { call: 'StartContainer', containerId: 'abc', msg: 'ok', level: 20 });
  t.end();
});
