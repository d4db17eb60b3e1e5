import { status } from '@grpc/grpc-js';
import { ContainerdError } from '@criquet/runtime-containerd';
import { test } from 'tap';
import { ignoreNotFound, ignoreTaskGone } from '../../src/runtime/already-gone.js';

const notFound = new ContainerdError(status.NOT_FOUND, 'tasks.kill', 'process already finished');
const shimLeft = new ContainerdError(status.UNKNOWN, 'tasks.kill', 'ttrpc: closed');
const busy = new ContainerdError(status.FAILED_PRECONDITION, 'tasks.delete', 'task must be stopped before deletion: running');

test('what is gone is ignored, nothing else', (t) => {
  ignoreNotFound(notFound);
  ignoreTaskGone(notFound);
  ignoreTaskGone(shimLeft);
  t.throws(() => ignoreNotFound(shimLeft), shimLeft);
  t.throws(() => ignoreTaskGone(busy), busy);
  t.end();
});
