import { status } from '@grpc/grpc-js';
import t from 'tap';
import { hostPlatform, isCancelled, isNotFound, PullStalled, resolveImage, type PullProgress, type PullRequest } from '../../src/index.js';
import { AuthType, OCIRegistry } from '../../src/gen/types/transfer/registry.js';
import { ImageStore } from '../../src/gen/types/transfer/imagestore.js';
import type { TransferRequest } from '../../src/gen/services/transfer/v1/transfer.js';
import { fakeImage, type FakePullable } from '../../src/testing/index.js';
import { fixture, NAMESPACE, sleep, until } from '../support/fixture.js';

const reference = 'docker.io/library/x:1';
const platform = { os: 'linux', architecture: 'amd64', variant: '' };

async function pulling(t: Parameters<typeof fixture>[0], pullable: Partial<FakePullable> = {}) {
  const { fake, client } = await fixture(t);
  const image = fakeImage({ files: { 'etc/passwd': 'root:x:0:0::/root:/bin/sh\n' } });
  fake.registry.set(reference, { image, ...pullable });
  await client.leases.create({ id: 'pull' });
  const request: PullRequest = { reference, snapshotter: 'overlayfs', lease: 'pull', platform };
  const pull = (more: Partial<PullRequest> = {}, options = {}) => client.transfer.pullImage({ ...request, ...more }, options);
  return { fake, client, image, pull };
}

t.test('a pull: content, snapshot and record, held by the lease, then by the record', async (t) => {
  const { fake, client, image, pull } = await pulling(t);
  const progress: PullProgress[] = [];
  await pull({ labels: { l: '1' }, onProgress: (message) => progress.push(message) });
  const { target, labels } = await client.images.get(reference);
  t.same(labels, { l: '1' });
  t.same(target.digest, image.target.digest);
  const resolved = await resolveImage(client.content, target, platform);
  t.match(resolved, { configDigest: image.id, chainId: image.chainId, config: { config: { Cmd: ['/bin/sh'] } } });
  t.match(await client.snapshots.stat('overlayfs', image.chainId), { kind: 'committed' });
  await client.leases.delete('pull', { sync: true });
  t.match(await client.snapshots.stat('overlayfs', image.chainId), { kind: 'committed' }, 'the record holds it now');
  t.equal(progress[0]?.event, 'Resolving from OCI Registry (docker.io/library/x:1)');
  t.equal(progress.at(-1)?.event, 'Completed pull from OCI Registry (docker.io/library/x:1)', 'the last message comes before the pull ends');
  t.match(progress.find(({ event }) => event === 'complete'), { name: /^layer-sha256:/, total: BigInt, parents: [] });

  const calls = fake.control.calls.filter(({ name }) => name === 'streaming.stream' || name === 'transfer.transfer');
  t.same(calls.map(({ name, lease }) => `${name} ${lease}`), ['streaming.stream pull', 'transfer.transfer pull'], 'the stream is there first');
  await client.images.delete(reference, { sync: true });
  t.ok(isNotFound(await client.snapshots.stat('overlayfs', image.chainId).catch((e: unknown) => e)), 'nothing holds it now');
});

t.test('what goes over the wire: bare type URLs, the resolver, the platform', async (t) => {
  const { fake, pull } = await pulling(t);
  await pull({ imageName: 'name', hostDir: '/hosts', headers: { Authorization: 'Bearer z' }, platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } });
  const [sent] = fake.control.requests('transfer.transfer') as TransferRequest[];
  t.equal(sent?.source?.typeUrl, 'containerd.types.transfer.OCIRegistry');
  t.equal(sent?.destination?.typeUrl, 'containerd.types.transfer.ImageStore');
  t.match(OCIRegistry.decode(sent?.source?.value ?? Buffer.alloc(0)), {
    reference,
    resolver: { authStream: '', hostDir: '/hosts', headers: { Authorization: 'Bearer z' } },
  });
  t.match(ImageStore.decode(sent?.destination?.value ?? Buffer.alloc(0)), {
    name: 'name',
    platforms: [{ os: 'linux', architecture: 'arm64', variant: 'v8' }],
    unpacks: [{ snapshotter: 'overlayfs', platform: { architecture: 'arm64' } }],
    extraReferences: [],
    allMetadata: false,
  });
});

t.test('left out: this machine\'s platform; a message of an unknown type is passed over', async (t) => {
  const { fake, client } = await fixture(t);
  fake.registry.set(reference, { image: fakeImage(), stall: 'waiting' });
  await client.leases.create({ id: 'pull' });
  const seen: string[] = [];
  const pulled = client.transfer.pullImage({ reference, snapshotter: 'overlayfs', lease: 'pull', onProgress: ({ event }) => seen.push(event) });
  await until(() => seen.includes('waiting'), 'the layer');
  const [sent] = fake.control.requests('transfer.transfer') as TransferRequest[];
  fake.streams.get(NAMESPACE, sent?.options?.progressStream ?? '').send({ typeUrl: 'x.Unknown', value: Buffer.from('x') });
  fake.registry.release();
  await pulled;
  const { architecture, variant } = hostPlatform();
  t.match(ImageStore.decode(sent?.destination?.value ?? Buffer.alloc(0)).platforms, [{ os: 'linux', architecture, variant }]);
  t.notOk(seen.includes(''), 'nothing made up');
});

t.test('credentials', async (t) => {
  const accepted: unknown[] = [];
  const auth = { host: 'registry.example', accepts: (answer: unknown) => accepted.push(answer) > 0 };
  const { fake, pull } = await pulling(t, { auth });
  const asked: string[] = [];
  await pull({
    credentials: (host, ref) => {
      asked.push(`${host} ${ref}`);
      return { kind: 'password', username: 'u', password: 'p' };
    },
  });
  await pull({ credentials: async () => ({ kind: 'identity-token', token: 'tok' }) });
  await pull({ credentials: () => undefined });
  t.same(asked, [`registry.example ${reference}`]);
  t.match(accepted, [
    { authType: AuthType.CREDENTIALS, username: 'u', secret: 'p' },
    { authType: AuthType.REFRESH, username: '', secret: 'tok' },
    { authType: AuthType.NONE, username: '', secret: '' },
  ]);
  t.match(fake.control.calls.filter(({ name }) => name === 'streaming.stream').length, 6, 'progress and auth, each pull');
});

t.test('refused: containerd gives the status in the text', async (t) => {
  const { pull } = await pulling(t, { auth: { host: 'h' } });
  const refused = { name: 'ContainerdError', code: status.UNKNOWN, details: /401 Unauthorized/ };
  await t.rejects(pull(), refused, 'no auth stream');
  await t.rejects(pull({ credentials: () => undefined }), refused, 'no credentials');
});

t.test('a credentials function that fails: the question is answered, the pull fails with its error', async (t) => {
  let answered = false;
  const accepts = ({ secret }: { secret: string }) => {
    answered = secret === '';
    return false;
  };
  const { pull } = await pulling(t, { auth: { host: 'h', accepts } });
  await t.rejects(pull({ credentials: () => Promise.reject(new Error('vault is sealed')) }), new Error('vault is sealed'));
  t.ok(answered);
  await t.rejects(
    pull({
      credentials: () => {
        throw 'a string';
      },
    }),
    new Error('a string'),
  );
});

t.test('a credentials function that fails does not stop an anonymous pull', async (t) => {
  const { client, pull } = await pulling(t, { auth: { host: 'h', accepts: () => true } });
  await pull({ credentials: () => Promise.reject(new Error('vault is sealed')) });
  t.match(await client.images.get(reference), { name: reference });
});

t.test('errors of the registry keep their code', async (t) => {
  const { fake, image, pull } = await pulling(t);
  await t.rejects(pull({ reference: 'docker.io/library/none:1' }), { code: status.NOT_FOUND, call: 'transfer.transfer' });
  fake.registry.set(reference, { image, error: { code: status.FAILED_PRECONDITION, details: 'unexpected commit digest' } });
  await t.rejects(pull(), { code: status.FAILED_PRECONDITION });
  fake.registry.set(reference, { image });
  await t.rejects(pull({ reference: 'docker.io/library/x' }), { code: status.UNKNOWN, details: /object required/ }, 'no tag');
  fake.unpackSnapshotters = [];
  await t.rejects(pull(), { code: status.INVALID_ARGUMENT, details: /no unpack platforms/ });
  await t.rejects(pull({ lease: 'none' }), { code: status.NOT_FOUND, details: /lease "none"/ });
  fake.registry.delete(reference);
  await t.rejects(pull(), { code: status.NOT_FOUND });
  fake.control.fail('streaming.stream', { code: status.UNAVAILABLE });
  await t.rejects(pull(), { code: status.UNAVAILABLE, call: 'streaming.stream' });
});

t.test('cancel: the pull stops at once and nothing hangs', async (t) => {
  const { fake, client, pull } = await pulling(t, { stall: 'downloading' });
  const abort = new AbortController();
  const cancelled = pull({ credentials: () => undefined }, { signal: abort.signal }).catch((e: unknown) => e);
  await until(() => fake.control.requests('transfer.transfer').length === 1, 'the transfer');
  await sleep(20);
  abort.abort();
  t.ok(isCancelled(await cancelled));
  t.ok(isNotFound(await client.images.get(reference).catch((e: unknown) => e)));
  t.ok(isCancelled(await pull({}, { signal: abort.signal }).catch((e: unknown) => e)), 'aborted before it began');
  await t.rejects(pull({}, { timeoutMs: 30 }), { code: status.DEADLINE_EXCEEDED, call: 'transfer.transfer' });
});

t.test('an onProgress that throws ends the pull with its error', async (t) => {
  const { pull } = await pulling(t, { stall: 'downloading' });
  const onProgress = () => {
    throw new Error('no room on the screen');
  };
  await t.rejects(pull({ onProgress }), new Error('no room on the screen'));
});

t.test('containerd is killed in a pull', async (t) => {
  const { fake, pull } = await pulling(t, { stall: 'downloading' });
  const pulled = pull({ credentials: () => undefined, noProgressTimeoutMs: 5000 }).catch((e: unknown) => e);
  await until(() => fake.control.requests('transfer.transfer').length === 1, 'the transfer');
  fake.stop();
  t.match(await pulled, { name: 'ContainerdError', code: status.UNAVAILABLE });
});

t.test('case I2: no progress while a registry or a layer is awaited', async (t) => {
  for (const stall of ['resolving', 'waiting', 'downloading'] as const) {
    const { fake, pull } = await pulling(t, { stall });
    const started = Date.now();
    const error = await pull({ noProgressTimeoutMs: 150 }).catch((e: unknown) => e);
    t.type(error, PullStalled, stall);
    t.match(error, { reference, noProgressTimeoutMs: 150, awaited: [stall === 'resolving' ? 'resolve' : /^layer-sha256:/] });
    t.match(error, { message: /^pull of docker.io\/library\/x:1: no progress for 0.15 s while waiting for (resolve|layer-sha256:)/ });
    t.ok(Date.now() - started < 1500, `${Date.now() - started} ms`);
    t.equal(fake.state(NAMESPACE).images.size, 0);
  }
});

t.test('case I6: unpacking may take longer than the limit', async (t) => {
  const { fake, client, pull } = await pulling(t, { stall: 'unpacking' });
  const pulled = pull({ noProgressTimeoutMs: 100 });
  await sleep(400);
  fake.registry.release();
  await pulled;
  t.match(await client.images.get(reference), { name: reference });
});

t.test('progress keeps a slow pull alive', async (t) => {
  const { pull } = await pulling(t, { layerMs: 500 });
  await t.resolves(pull({ noProgressTimeoutMs: 200 }));
});

t.test('a layer that waits behind other downloads is not stalled', async (t) => {
  const { fake, pull } = await pulling(t, { stall: 'waiting' });
  const time = { seconds: 1n, nanos: 0 };
  let offset = 0n;
  const other = setInterval(() => {
    offset += 1n;
    const ingest = { ref: 'layer-of-another', offset, total: 0n, expected: '', startedAt: time, updatedAt: time };
    fake.state(NAMESPACE).ingests.set('layer-of-another', { status: ingest, data: Buffer.alloc(0) });
  }, 20);
  t.teardown(() => clearInterval(other));
  const pulled = pull({ noProgressTimeoutMs: 150 }, { namespace: NAMESPACE });
  await sleep(500);
  fake.registry.release();
  await t.resolves(pulled);

  fake.control.fail('content.listStatuses');
  fake.registry.delete(reference);
  fake.registry.set(reference, { image: fakeImage({ files: { a: 'b' } }), stall: 'waiting' });
  await t.rejects(pull({ noProgressTimeoutMs: 100 }), { name: 'PullStalled' }, 'when the ingests cannot be read, time counts');
});

t.test('an index without the platform ends well: resolving tells', async (t) => {
  const image = fakeImage({ index: true, platform: { os: 'linux', architecture: 's390x' } });
  const { client, pull } = await pulling(t, { image, withoutPlatform: true });
  await pull();
  const { target } = await client.images.get(reference);
  await t.rejects(resolveImage(client.content, target, platform), {
    name: 'PlatformMissing',
    message: `image ${image.target.digest}: no manifest for linux/amd64; it has linux/s390x`,
  });
});
