import { status } from '@grpc/grpc-js';
import { ContainerdError, type Tasks } from '@criquet/runtime-containerd';
import { test } from 'tap';
import { discardTask, ignoreNotFound, ignoreTaskGone } from '../../src/runtime/already-gone.js';

const notFound = new ContainerdError(status.NOT_FOUND, 'tasks.kill', 'process already finished');
const shimLeft = new ContainerdError(status.UNKNOWN, 'tasks.kill', 'ttrpc: closed');
const busy = new ContainerdError(status.FAILED_PRECONDITION, 'tasks.delete', 'task must be stopped before deletion: running');

/** A task whose process takes a moment to end after SIGKILL, as every real one does. */
function dyingTask(failures: Partial<Record<'kill' | 'wait' | 'delete', Error>> = {}) {
  const order: string[] = [];
  let ended = failures.kill !== undefined;
  const step = (name: 'kill' | 'wait' | 'delete') => {
    order.push(name);
    const failure = failures[name];
    if (failure !== undefined) throw failure;
  };
  const tasks = {
    async kill(_id: string, request: object) {
      await Promise.resolve();
      order.push(JSON.stringify(request));
      step('kill');
    },
    async wait() {
      await new Promise((resolve) => setTimeout(resolve, 10));
      step('wait');
      ended = true;
    },
    async delete() {
      await Promise.resolve();
      step('delete');
      if (!ended) throw busy;
    },
  };
  return { tasks: tasks as unknown as Tasks, order };
}

test('a task is killed with all its processes, and deleted when it has ended', async (t) => {
  const { tasks, order } = dyingTask();
  await discardTask(tasks, 'x');
  t.same(order, ['{"signal":9,"all":true}', 'kill', 'wait', 'delete']);
});

for (const gone of [notFound, shimLeft]) {
  test(`L10: "${gone.details}" at any point is success`, async (t) => {
    await discardTask(dyingTask({ kill: gone }).tasks, 'x');
    await discardTask(dyingTask({ wait: gone, delete: gone }).tasks, 'x');
    await discardTask(dyingTask({ delete: gone }).tasks, 'x');
    t.pass();
  });
}

test('any other failure is told', async (t) => {
  const away = new ContainerdError(status.UNAVAILABLE, 'tasks.kill', 'connection refused');
  await t.rejects(discardTask(dyingTask({ kill: away }).tasks, 'x'), away);
  await t.rejects(discardTask(dyingTask({ wait: away }).tasks, 'x'), away);
  await t.rejects(discardTask(dyingTask({ delete: away }).tasks, 'x'), away);
});

test('what is gone is ignored, nothing else', (t) => {
  ignoreNotFound(notFound);
  ignoreTaskGone(notFound);
  ignoreTaskGone(shimLeft);
  t.throws(() => ignoreNotFound(shimLeft), shimLeft);
  t.throws(() => ignoreTaskGone(busy), busy);
  t.end();
});
