import { status } from '@grpc/grpc-js';
import t from 'tap';
import { connectContainerd, isCancelled, isDeadlineExceeded, isNotFound, isUnavailable } from '../src/index.js';
import { collect, container, fixture, NAMESPACE, sleep, until } from './support/fixture.js';

t.test('namespace and lease headers', async (t) => {
  const { fake, client } = await fixture(t);
  t.equal(client.namespace, NAMESPACE);
  await client.leases.create({ id: 'l' });
  await client.containers.create(container('a'), { lease: 'l' });
  await client.containers.create(container('a'), { namespace: 'other' });
  t.match(fake.control.calls.slice(1), [
    { name: 'containers.create', namespace: NAMESPACE, lease: 'l' },
    { name: 'containers.create', namespace: 'other', lease: '' },
  ]);
  t.same((await client.namespaces.list()).map(({ name }) => name), [NAMESPACE, 'other']);
  await t.rejects(client.containers.list([], { namespace: '' }), { code: status.FAILED_PRECONDITION, details: /namespace is required/ });
});

t.test('errors carry the call and the details', async (t) => {
  const { client } = await fixture(t);
  const error = await client.containers.get('none').catch((e: unknown) => e);
  t.ok(isNotFound(error));
  t.match(error, { call: 'containers.get', details: /container "none" in namespace "test": not found/, cause: { code: 5 } });
});

t.test('deadlines', async (t) => {
  const { fake, client } = await fixture(t, { defaultTimeoutMs: 80 });
  const release = fake.control.hang('containers.list');
  const error = await client.containers.list().catch((e: unknown) => e);
  t.ok(isDeadlineExceeded(error), 'the default');
  t.ok(isDeadlineExceeded(await client.containers.list([], { timeoutMs: 20 }).catch((e: unknown) => e)), 'its own');
  const endless = client.containers.list([], { timeoutMs: 0 });
  await sleep(150);
  release();
  t.same(await endless, [], 'none');

  const hung = fake.control.hang('containers.listStream');
  t.ok(isDeadlineExceeded(await collect(client.containers.stream([], { timeoutMs: 30 })).catch((e: unknown) => e)));
  hung();
});

t.test('containerd may end a call at its deadline first', async (t) => {
  const { fake, client } = await fixture(t);
  fake.control.fail('containers.list', { code: status.CANCELLED, times: 2 });
  t.ok(isCancelled(await client.containers.list([], { timeoutMs: 10_000 }).catch((e: unknown) => e)), 'long before it is no such end');
  fake.control.delay('containers.list', 192);
  t.match(await client.containers.list([], { timeoutMs: 200 }).catch((e: unknown) => e), { code: status.DEADLINE_EXCEEDED, call: 'containers.list' });
});

t.test('an AbortSignal cancels on the wire', async (t) => {
  const { fake, client } = await fixture(t);
  await client.containers.create(container('a'));
  await client.tasks.create({ containerId: 'a', rootfs: [], stdin: '', stdout: '', stderr: '', terminal: false });
  const abort = new AbortController();
  const waiting = client.tasks.wait('a', '', { signal: abort.signal });
  await until(() => fake.control.requests('tasks.wait').length === 1, 'the wait');
  abort.abort(new Error('enough'));
  const error = await waiting.catch((e: unknown) => e);
  t.ok(isCancelled(error));
  t.match(error, { details: 'cancelled by the caller', cause: { message: 'enough' } });

  const calls = fake.control.calls.length;
  t.ok(isCancelled(await client.tasks.wait('a', '', { signal: abort.signal }).catch((e: unknown) => e)), 'unary');
  t.ok(isCancelled(await collect(client.containers.stream([], { signal: abort.signal })).catch((e: unknown) => e)), 'stream');
  t.ok(isCancelled(await client.streaming.open('s', { signal: abort.signal }).catch((e: unknown) => e)), 'duplex');
  t.equal(fake.control.calls.length, calls, 'nothing was sent');
});

t.test('a restart of containerd: UNAVAILABLE meanwhile, then calls work', async (t) => {
  const { fake, client } = await fixture(t);
  await client.containers.create(container('a'));
  const events = collect(client.events.subscribe()).catch((e: unknown) => e);
  await until(() => fake.events.subscriberCount === 1, 'the subscription');
  fake.stop();
  t.ok(isUnavailable(await events), 'open streams fail');
  t.ok(isUnavailable(await client.containers.get('a').catch((e: unknown) => e)));
  await sleep(300);
  t.ok(isUnavailable(await client.containers.get('a').catch((e: unknown) => e)), 'still away');
  await fake.listen();
  const end = Date.now() + 4000;
  let found;
  while (found === undefined && Date.now() < end) found = await client.containers.get('a').catch(() => sleep(50));
  t.match(found, { id: 'a' });
});

t.test('nobody serves the socket', async (t) => {
  const client = connectContainerd({ address: 'unix:///nonexistent/none.sock', namespace: 'x' });
  t.teardown(() => client.close());
  const error = await client.version.get().catch((e: unknown) => e);
  t.ok(isUnavailable(error));
  t.match(error, {
    call: 'version.version',
    details: 'cannot reach containerd at /nonexistent/none.sock: ENOENT',
    message: 'containerd version.version: UNAVAILABLE: cannot reach containerd at /nonexistent/none.sock: ENOENT',
  });
});

t.test('a connection that is lost under a call, and an answer that says UNAVAILABLE', async (t) => {
  const { fake, client } = await fixture(t);
  fake.control.fail('containers.get', { code: status.UNAVAILABLE, details: 'a shim is away', times: 1 });
  t.match(await client.containers.get('a').catch((e: unknown) => e), { code: status.UNAVAILABLE, details: 'a shim is away' });
  const release = fake.control.hang('containers.list');
  const lost = client.containers.list().catch((e: unknown) => e);
  await until(() => fake.control.requests('containers.list').length === 1, 'the call');
  fake.stop();
  t.match(await lost, { code: status.UNAVAILABLE, details: /^the connection to containerd at \/\S+ was lost$/ });
  release();
});

t.test('many calls may share one signal', async (t) => {
  const { fake, client } = await fixture(t);
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning.name);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  const release = fake.control.hang('containers.get');
  const abort = new AbortController();
  const calls = Array.from({ length: 20 }, () => client.containers.get('a', { signal: abort.signal }).catch((e: unknown) => e));
  const watches = Array.from({ length: 20 }, () => collect(client.events.subscribe([], { signal: abort.signal })).catch((e: unknown) => e));
  await until(() => fake.control.requests('containers.get').length === 20, 'the calls');
  abort.abort();
  t.ok((await Promise.all([...calls, ...watches])).every(isCancelled));
  t.same(warnings, []);
  release();
});

t.test('only unix sockets', async (t) => {
  t.throws(() => connectContainerd({ address: 'tcp://1.2.3.4:5', namespace: 'x' }), /"tcp:\/\/1.2.3.4:5": expected the absolute path/);
  t.throws(() => connectContainerd({ address: `/${'x'.repeat(107)}`, namespace: 'x' }), /at most 107 bytes/);
  connectContainerd({ address: `/${'x'.repeat(106)}`, namespace: 'x' }).close();
});

t.test('close ends open calls', async (t) => {
  const { fake, client } = await fixture(t);
  const release = fake.control.hang('containers.get');
  const unary = client.containers.get('a').catch((e: unknown) => e);
  const stream = collect(client.events.subscribe()).catch((e: unknown) => e);
  await until(() => fake.events.subscriberCount === 1, 'the subscription');
  client.close();
  t.match(await unary, { code: status.CANCELLED });
  t.match(await stream, { code: status.CANCELLED });
  release();
});

t.test('an observer sees each call once', async (t) => {
  const seen: string[] = [];
  const { fake, client } = await fixture(t, {
    observe: ({ name, namespace }) => {
      seen.push(`${name} in ${namespace}`);
      return (error) => void seen.push(`${name} ${error === undefined ? 'ok' : error.message}`);
    },
  });
  await client.version.get();
  await client.containers.get('x', { namespace: 'n' }).catch(() => undefined);
  await collect(client.containers.stream());
  fake.events.publish(NAMESPACE, '/x', 'X', { encode: () => ({ finish: () => Buffer.alloc(0) }) }, {});
  const events = client.events.subscribe()[Symbol.asyncIterator]();
  const first = events.next();
  await until(() => fake.events.subscriberCount === 1, 'the subscription');
  fake.events.publish(NAMESPACE, '/x', 'X', { encode: () => ({ finish: () => Buffer.alloc(0) }) }, {});
  await first;
  await events.return?.();
  await until(() => fake.events.subscriberCount === 0, 'the end of the subscription');
  t.same(seen, [
    'version.version in test',
    'version.version ok',
    'containers.get in n',
    'containers.get containerd containers.get: NOT_FOUND: container "x" in namespace "n": not found',
    'containers.listStream in test',
    'containers.listStream ok',
    'events.subscribe in test',
    'events.subscribe ok',
  ]);
});
