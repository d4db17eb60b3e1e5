import { status } from '@grpc/grpc-js';
import { ContainerdError, type Containerd } from '@criquet/runtime-containerd';
import { test } from 'tap';
import { discardTask } from '../../src/runtime/reach-task.js';

type Call = 'kill' | 'wait' | 'delete' | 'record';

const notFound = new ContainerdError(status.NOT_FOUND, 'tasks.kill', 'process already finished');
const shimLeft = new ContainerdError(status.UNKNOWN, 'tasks.kill', 'ttrpc: closed');
const away = new ContainerdError(status.UNAVAILABLE, 'tasks.kill', 'connection refused');
const busy = new ContainerdError(status.FAILED_PRECONDITION, 'tasks.delete', 'task must be stopped before deletion: running');

/** A task whose process takes a moment to end after SIGKILL, as every real one does. Without a record containerd finds no task. */
function dyingTask({ record = true, leftover = false, failures = {} }: { record?: boolean; leftover?: boolean; failures?: Partial<Record<Call, Error>> } = {}) {
  const order: string[] = [];
  let recorded = record;
  let ended = failures.kill !== undefined;
  const step = async (name: Call) => {
    await Promise.resolve();
    order.push(name);
    if (!recorded && name !== 'record') throw notFound;
    const failure = failures[name];
    if (failure !== undefined) throw failure;
  };
  const tasks = {
    async kill(_id: string, request: object) {
      await step('kill');
      order.push(JSON.stringify(request));
    },
    async wait() {
      await new Promise((resolve) => setTimeout(resolve, 10));
      await step('wait');
      ended = true;
    },
    async delete() {
      await step('delete');
      if (!ended) throw busy;
    },
  };
  const containers = {
    async get() {
      await step('record');
      if (!recorded) throw notFound;
      return { labels: leftover ? { 'criquet.leftover': 'task' } : {} };
    },
    async create({ labels }: { labels: object }) {
      await Promise.resolve();
      order.push(`record made ${JSON.stringify(labels)}`);
      if (recorded) throw new ContainerdError(status.ALREADY_EXISTS, 'containers.create', 'x');
      recorded = true;
    },
    async delete() {
      await Promise.resolve();
      order.push('record removed');
      recorded = false;
    },
  };
  return { containerd: { tasks, containers } as unknown as Containerd, order };
}

test('a task is killed with all its processes, and deleted when it has ended', async (t) => {
  const { containerd, order } = dyingTask();
  await discardTask(containerd, 'x');
  t.same(order, ['kill', '{"signal":9,"all":true}', 'wait', 'delete']);
});

for (const gone of [notFound, shimLeft]) {
  test(`L10: "${gone.details}" at any point is success, and nothing is made where the record is there`, async (t) => {
    for (const failures of [{ kill: gone }, { wait: gone, delete: gone }, { delete: gone }]) {
      const { containerd, order } = dyingTask({ failures });
      await discardTask(containerd, 'x');
      t.notOk(order.some((line) => line.startsWith('record ')));
    }
  });
}

test('any other failure is told', async (t) => {
  for (const call of ['kill', 'wait', 'delete'] as const) await t.rejects(discardTask(dyingTask({ failures: { [call]: away } }).containerd, 'x'), away);
  await t.rejects(discardTask(dyingTask({ failures: { delete: notFound, record: away } }).containerd, 'x'), away, 'whether the record is there is not known');
});

test('a task whose record is gone gets one that is nobody\'s, until it is discarded', async (t) => {
  const { containerd, order } = dyingTask({ record: false });
  await discardTask(containerd, 'x');
  t.same(order, ['kill', 'delete', 'record', 'record made {"criquet.leftover":"task"}', 'kill', '{"signal":9,"all":true}', 'wait', 'delete', 'record removed']);
});

test('that record goes when the discard fails, and so does one of an attempt that died', async (t) => {
  const failing = dyingTask({ record: false, failures: { wait: away } });
  await t.rejects(discardTask(failing.containerd, 'x'), away);
  t.equal(failing.order.at(-1), 'record removed');
  const left = dyingTask({ leftover: true, failures: { delete: notFound } });
  await discardTask(left.containerd, 'x');
  t.equal(left.order.at(-1), 'record removed');
});
