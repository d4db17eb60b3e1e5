import { status } from '@grpc/grpc-js';
import t from 'tap';
import {
  ContainerdError,
  isAlreadyExists,
  isCancelled,
  isDeadlineExceeded,
  isFailedPrecondition,
  isNotFound,
  isTaskGone,
  isTaskUnderWay,
  isUnavailable,
} from '../src/index.js';

const error = (code: status, details = 'x') => new ContainerdError(code, 'tasks.kill', details);

t.test('the message names call, code and details', async (t) => {
  const cause = new Error('below');
  const made = new ContainerdError(status.NOT_FOUND, 'containers.get', 'container "x": not found', { cause });
  t.equal(made.message, 'containerd containers.get: NOT_FOUND: container "x": not found');
  t.equal(made.cause, cause);
  t.equal(new ContainerdError(99 as status, 'a.b', 'c').message, 'containerd a.b: code 99: c');
});

t.test('predicates', async (t) => {
  const table = [
    [isNotFound, status.NOT_FOUND],
    [isAlreadyExists, status.ALREADY_EXISTS],
    [isUnavailable, status.UNAVAILABLE],
    [isFailedPrecondition, status.FAILED_PRECONDITION],
    [isDeadlineExceeded, status.DEADLINE_EXCEEDED],
    [isCancelled, status.CANCELLED],
  ] as const;
  for (const [predicate, code] of table) {
    t.ok(predicate(error(code)), predicate.name);
    t.notOk(predicate(error(status.INTERNAL)), predicate.name);
    t.notOk(predicate(Object.assign(new Error('other'), { code })), `${predicate.name} of another error`);
  }
});

t.test('case L10: a shim that leaves during a stop', async (t) => {
  t.ok(isTaskUnderWay(error(status.UNKNOWN, 'mkdir /run/containerd/io.containerd.runtime.v2.task/k8s.io/x: file exists')));
  t.ok(isTaskUnderWay(error(status.UNKNOWN, 'failed to create shim task: OCI runtime create failed: runc create failed: container with given ID already exists')));
  t.notOk(isTaskUnderWay(error(status.UNKNOWN, 'mkdir /run/containerd: no space left on device')));
  t.notOk(isTaskUnderWay(error(status.ALREADY_EXISTS)));
  t.ok(isTaskGone(error(status.NOT_FOUND)));
  t.ok(isTaskGone(error(status.UNKNOWN, 'ttrpc: closed')));
  t.ok(isTaskGone(error(status.UNAVAILABLE, 'failed to kill: ttrpc: closed: unavailable')));
  t.notOk(isTaskGone(error(status.UNAVAILABLE, 'connection refused')));
  t.notOk(isTaskGone(error(status.UNKNOWN, 'runc did not terminate')));
  t.notOk(isTaskGone(new Error('ttrpc: closed')));
});
