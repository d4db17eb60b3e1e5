import t from 'tap';
import { decodeEvent, type Envelope } from '../../src/index.js';
import { ContainerCreate, ContainerUpdate } from '../../src/gen/events/container.js';
import { ImageUpdate } from '../../src/gen/events/image.js';
import { TaskCheckpointed, TaskDelete, TaskExit, TaskPaused, TaskResumed } from '../../src/gen/events/task.js';
import { collect, container, fixture, NAMESPACE, until } from '../support/fixture.js';

t.test('a subscriber gets what its filters say, from the call on', async (t) => {
  const { fake, client } = await fixture(t);
  const all = client.events.subscribe();
  const some = client.events.subscribe([`namespace==${NAMESPACE},topic~=|^/containers/|`, 'topic==/mine']);
  await until(() => fake.events.subscriberCount === 2, 'both');
  await client.containers.create(container('a'));
  await client.containers.create(container('b'), { namespace: 'other' });
  await client.events.publish('/mine', { typeUrl: 'x.Y', value: Buffer.from('z') });
  const old = { timestamp: 5n, namespace: 'elsewhere', topic: '/mine', event: { typeUrl: 'x.Y', value: Buffer.alloc(0) } };
  await client.events.forward(old);
  fake.stop();
  const until14 = async (events: AsyncIterable<Envelope>) => {
    const seen: string[] = [];
    try {
      for await (const { namespace, topic } of events) seen.push(`${namespace} ${topic}`);
    } catch {
      return seen;
    }
    return ['ended without an error'];
  };
  t.same(await until14(all), ['test /containers/create', 'other /containers/create', 'test /mine', 'elsewhere /mine']);
  t.same(await until14(some), ['test /containers/create', 'test /mine', 'elsewhere /mine']);
});

t.test('a subscriber that leaves', async (t) => {
  const { fake, client } = await fixture(t);
  const abort = new AbortController();
  const events = collect(client.events.subscribe([], { signal: abort.signal })).catch((e: unknown) => e);
  await until(() => fake.events.subscriberCount === 1, 'the subscription');
  abort.abort();
  t.match(await events, { code: 1, call: 'events.subscribe' });
  await until(() => fake.events.subscriberCount === 0, 'its end');
});

function envelope(typeUrl: string, message: Uint8Array): Envelope {
  return { timestamp: 7n, namespace: 'n', topic: '/some/topic', event: { typeUrl, value: message } };
}

t.test('decoding', async (t) => {
  const exit = { containerId: 'c', id: 'c', pid: 4, exitStatus: 9, exitedAt: { seconds: 1n, nanos: 2 } };
  const decode = (type: string, bytes: Uint8Array) => decodeEvent(envelope(`containerd.events.${type}`, bytes));
  t.same(decode('TaskExit', TaskExit.encode(exit).finish()), {
    topic: '/tasks/exit', namespace: 'n', timestamp: 7n, containerId: 'c', execId: '', pid: 4, exitStatus: 9, exitedAt: 1_000_000_002n,
  });
  t.match(decode('TaskExit', TaskExit.encode({ ...exit, id: 'e' }).finish()), { execId: 'e' });
  t.match(decode('TaskDelete', TaskDelete.encode({ ...exit, id: '' }).finish()), { topic: '/tasks/delete', execId: '' });
  t.match(decode('TaskPaused', TaskPaused.encode({ containerId: 'c' }).finish()), { topic: '/tasks/paused', containerId: 'c' });
  t.match(decode('TaskResumed', TaskResumed.encode({ containerId: 'c' }).finish()), { topic: '/tasks/resumed', containerId: 'c' });
  t.match(decode('TaskCheckpointed', TaskCheckpointed.encode({ containerId: 'c', checkpoint: 'p' }).finish()), { topic: '/tasks/checkpointed', checkpoint: 'p' });
  t.match(decode('ContainerUpdate', ContainerUpdate.encode({ id: 'c', image: '', labels: {}, snapshotKey: '' }).finish()), { topic: '/containers/update', id: 'c' });
  t.match(decodeEvent(envelope('containerd.services.images.v1.ImageUpdate', ImageUpdate.encode({ name: 'i', labels: {} }).finish())), { topic: '/images/update', name: 'i' });
  const created = ContainerCreate.encode({ id: 'c', image: '', runtime: undefined }).finish();
  t.match(decodeEvent(envelope('type.googleapis.com/containerd.events.ContainerCreate', created)), { topic: '/containers/create' }, 'an older containerd');
});

t.test('what cannot be decoded is passed on', async (t) => {
  const unknown = envelope('example.Event', Buffer.from('x'));
  t.same(decodeEvent(unknown), { topic: '', otherTopic: '/some/topic', namespace: 'n', timestamp: 7n, event: unknown.event });
  const rubbish = envelope('containerd.events.TaskExit', Buffer.from([0x0a, 0xff, 0xff]));
  t.match(decodeEvent(rubbish), { topic: '', otherTopic: '/some/topic', event: rubbish.event });
});

t.test('image and container events of the fake', async (t) => {
  const { fake, client } = await fixture(t);
  await client.containers.create(container('a'));
  await client.containers.update({ id: 'a', labels: {} }, ['labels']);
  await client.containers.delete('a');
  const target = { mediaType: 'm', digest: 'sha256:1', size: 1n, annotations: {} };
  await client.images.create({ name: 'i', target });
  await client.images.update({ name: 'i', target });
  await client.images.delete('i');
  t.match(fake.events.decoded, [
    { topic: '/containers/create', id: 'a' },
    { topic: '/containers/update', id: 'a' },
    { topic: '/containers/delete', id: 'a' },
    { topic: '/images/create', name: 'i' },
    { topic: '/images/update', name: 'i' },
    { topic: '/images/delete', name: 'i' },
  ]);
});
