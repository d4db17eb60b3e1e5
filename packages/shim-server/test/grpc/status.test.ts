import { status } from '@grpc/grpc-js';
import { CniError } from '@criquet/network-cni';
import { ContainerdError } from '@criquet/runtime-containerd';
import { test } from 'tap';
import { alreadyExists, failedPrecondition, invalidArgument, notFound } from '../../src/errors.js';
import { toStatus } from '../../src/grpc/status.js';
import { verboseJson } from '../../src/grpc/verbose-json.js';

const cni = (code: number) => new CniError({ failure: 'plugin', command: 'ADD', plugin: 'bridge', network: 'net', code, msg: 'no' });

test('every kind of error becomes one status', (t) => {
  t.same(toStatus(invalidArgument('a.b', 'is bad')), { code: status.INVALID_ARGUMENT, message: 'a.b: is bad' });
  t.same(toStatus(notFound('pod', 'x')), { code: status.NOT_FOUND, message: 'pod "x" not found' });
  t.equal(toStatus(alreadyExists('x')).code, status.ALREADY_EXISTS);
  t.equal(toStatus(failedPrecondition('x')).code, status.FAILED_PRECONDITION);
  t.same(toStatus(new ContainerdError(status.NOT_FOUND, 'tasks.get', 'no task')), { code: status.NOT_FOUND, message: 'containerd tasks.get: no task' });
  t.same(toStatus(new DOMException('x', 'TimeoutError')), { code: status.DEADLINE_EXCEEDED, message: 'deadline exceeded' });
  t.same(toStatus(new DOMException('x', 'AbortError')), { code: status.CANCELLED, message: 'cancelled by the caller' });
  t.same(toStatus(new Error('bug')), { code: status.INTERNAL, message: 'bug' });
  for (const code of ['ENOSPC', 'EDQUOT']) t.same(toStatus(Object.assign(new Error('full'), { code })), { code: status.RESOURCE_EXHAUSTED, message: 'full' });
  t.same(toStatus('text'), { code: status.UNKNOWN, message: 'text' });
  t.end();
});

test('CNI: "try again later" and "not available" are UNAVAILABLE, everything else INTERNAL', (t) => {
  for (const code of [11, 50, 51]) t.equal(toStatus(cni(code)).code, status.UNAVAILABLE, `${code}`);
  for (const code of [1, 7, 100, 999]) t.equal(toStatus(cni(code)).code, status.INTERNAL, `${code}`);
  t.match(toStatus(cni(7)).message, /bridge/);
  t.end();
});

test('a message that gRPC cannot carry is cut, and half a character replaced', (t) => {
  const { message } = toStatus(invalidArgument('name', `${'é'.repeat(100_000)} is too long`));
  t.ok(encodeURI(message).length < 64 * 1024, 'fits into a header block');
  t.match(message, /^name: é+.* … \(\d+ bytes more\)$/);
  t.equal(toStatus(new Error(`half ${'😀'.charAt(0)}`)).message, 'half \ufffd');
  t.end();
});

test('verbose JSON', (t) => {
  const text = verboseJson({ small: 5n, big: 2n ** 60n, bytes: new Uint8Array([104, 105]), _unknownFields: { 1: [] }, nested: { _unknownFields: {}, a: 1 } });
  t.same(JSON.parse(text), { small: 5, big: '1152921504606846976', bytes: 'aGk=', nested: { a: 1 } });
  t.end();
});
