import { status } from '@grpc/grpc-js';
import { ContainerEventType, type ContainerEventResponse } from '@criquet/cri-api';
import { test } from 'tap';
import { EventSubscription } from '../../src/container/event-subscription.js';
import { eventually, Shim, NAMESPACE } from './shim-harness.js';

/** Reads a stream in the background. */
function collect(shim: Shim): { events: ContainerEventResponse[]; done: Promise<unknown>; cancel: () => void } {
  const events: ContainerEventResponse[] = [];
  const cancelled = new AbortController();
  const read = async () => {
    for await (const event of shim.cri.runtime.getContainerEvents({}, { signal: cancelled.signal })) events.push(event);
    return 'ended';
  };
  return { events, done: read().catch((error: unknown) => error), cancel: () => cancelled.abort() };
}

const names = (events: readonly ContainerEventResponse[], id: string) =>
  events.filter(({ containerId }) => containerId === id).map((event) => ContainerEventType[event.containerEventType]);

test('T3: created, started, stopped, deleted in order, each with a status at least as new', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime } = shim.cri;
  const stream = collect(shim);
  await runtime.version({});
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  shim.containerd.process(NAMESPACE, containerId).exit(3);
  await eventually(() => {
    if (!names(stream.events, containerId).includes('CONTAINER_STOPPED_EVENT')) throw new Error('not stopped');
  });
  await runtime.removeContainer({ containerId });
  await runtime.stopPodSandbox({ podSandboxId: pod });
  await runtime.removePodSandbox({ podSandboxId: pod });
  const life = ['CONTAINER_CREATED_EVENT', 'CONTAINER_STARTED_EVENT', 'CONTAINER_STOPPED_EVENT', 'CONTAINER_DELETED_EVENT'];
  await eventually(() => {
    if (!names(stream.events, pod).includes('CONTAINER_DELETED_EVENT')) throw new Error('not deleted');
  });
  t.same(names(stream.events, containerId), life);
  t.same(names(stream.events, pod), life);
  const of = (id: string, type: number) => stream.events.find((event) => event.containerId === id && event.containerEventType === type);
  for (const type of [0, 1, 2, 3]) {
    t.match(of(containerId, type)?.podSandboxStatus, { id: pod, metadata: { name: 'pod', uid: 'uid-1' } });
  }
  // CRI ContainerState: created, running, exited.
  t.match(of(containerId, 0)?.containersStatuses, [{ id: containerId, state: 0 }]);
  t.match(of(containerId, 1)?.containersStatuses, [{ id: containerId, state: 1 }]);
  t.match(of(containerId, 2)?.containersStatuses, [{ id: containerId, state: 2, exitCode: 3 }]);
  t.same(of(containerId, 3)?.containersStatuses, []);
  t.match(of(pod, 0)?.podSandboxStatus, { state: 0, network: { ip: '10.1.0.7' } });
  t.match(of(pod, 2)?.podSandboxStatus, { state: 1 });
  t.ok(stream.events.every((event, index) => event.createdAt >= (stream.events[index - 1]?.createdAt ?? 1n)));
  stream.cancel();
  t.match(await stream.done, { code: status.CANCELLED });
});

test('T3: a start that fails is told as a stop; several readers have the same', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const streams = [collect(shim), collect(shim)];
  await shim.cri.runtime.version({});
  const pod = await shim.runPod();
  shim.failpoints.fail('StartContainer/start the task');
  await t.rejects(shim.startContainer(pod));
  for (const { events } of streams) {
    await eventually(() => {
      if (events.length < 4) throw new Error('not yet');
    });
    t.same(
      events.filter(({ containerId }) => containerId !== pod).map((event) => event.containerEventType),
      [ContainerEventType.CONTAINER_CREATED_EVENT, ContainerEventType.CONTAINER_STOPPED_EVENT],
    );
  }
});

test('T3: a stream ends at once when its reader goes and when the daemon stops', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const gone = collect(shim);
  const staying = collect(shim);
  await shim.cri.runtime.version({});
  gone.cancel();
  t.match(await gone.done, { code: status.CANCELLED });
  await eventually(() => {
    const ended = shim.logLines.map((line) => JSON.parse(line) as { call?: string; code?: string });
    if (!ended.some(({ call, code }) => call === 'GetContainerEvents' && code === 'CANCELLED')) throw new Error('still open');
  });
  const began = performance.now();
  await shim.stopServing();
  t.ok(performance.now() - began < 1_500, 'the shutdown does not wait for it');
  t.equal(await staying.done, 'ended');
  await shim.serve();
  const after = collect(shim);
  await shim.cri.runtime.version({});
  await shim.runPod();
  await eventually(() => {
    if (after.events.length < 2) throw new Error('no events after a restart');
  });
});

test('T3: a reader that falls behind gets what waited, then an error', async (t) => {
  const subscription = new EventSubscription<number>(3);
  for (const event of [1, 2, 3, 4, 5]) subscription.push(event);
  const read: number[] = [];
  const reading = (async () => {
    for await (const event of subscription.read(new AbortController().signal)) read.push(event);
  })();
  await t.rejects(reading, { code: status.RESOURCE_EXHAUSTED });
  t.same(read, [1, 2, 3]);
});

test('PodSandboxStatus has the statuses of the pod\'s containers and their time', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const running = await shim.startContainer(pod);
  const created = await shim.createContainer(pod, { metadata: { name: 'second', attempt: 0 } });
  const other = await shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
  const before = BigInt(Date.now()) * 1_000_000n;
  const reply = await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod });
  t.ok(reply.timestamp >= before);
  t.match(reply.containersStatuses, [{ id: running, state: 1 }, { id: created, state: 0 }]);
  t.equal(reply.containersStatuses.length, 2);
  t.same((await shim.cri.runtime.podSandboxStatus({ podSandboxId: other })).containersStatuses, []);
});
