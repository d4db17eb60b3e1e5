import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import type { AuthConfig, DeepPartial, Image } from '@criquet/cri-api';
import { fakeImage, fakeImageRecord, type FakeImage, type FakePullable } from '@criquet/runtime-containerd/testing';
import { test, type Test } from 'tap';
import { eventually, IMAGE, NAMESPACE, Shim } from './shim-harness.js';

const REFERENCE = 'reg.test:5000/team/app:1';
const DIGEST = (image: FakeImage) => `reg.test:5000/team/app@${image.target.digest}`;
const fake = (name: string, config = {}) => fakeImage({ config: { Cmd: [`/${name}`], ...config }, files: { [name]: name } });

async function withPullable(t: Test, pullable: Partial<FakePullable> = {}, reference = REFERENCE): Promise<{ shim: Shim; image: FakeImage }> {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const image = pullable.image ?? fake('app');
  shim.containerd.registry.set(reference, { ...pullable, image });
  return { shim, image };
}

const names = (shim: Shim) => [...shim.containerd.state(NAMESPACE).images.keys()].filter((name) => name !== IMAGE).sort();
const status_ = async (shim: Shim, image: string): Promise<Image | undefined> => (await shim.cri.image.imageStatus({ image: { image } })).image;
const leases = (shim: Shim) => [...shim.containerd.state(NAMESPACE).leases.keys()];

async function until(shim: Shim, check: (images: Image[]) => boolean): Promise<Image[]> {
  return eventually(async () => {
    const { images } = await shim.cri.image.listImages({});
    if (!check(images)) throw new Error(`not yet: ${JSON.stringify(images.map(({ repoTags }) => repoTags))}`);
    return images;
  });
}

test('PullImage: the id is the digest of the config, everywhere', async (t) => {
  const { shim, image } = await withPullable(t, { image: fakeImage({ config: { Cmd: ['/a'], User: '1000:1000' }, index: true }) });
  const { imageRef } = await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  t.equal(imageRef, image.id);
  const pulled = await status_(shim, REFERENCE);
  const layer = image.blobs[0]?.data.length ?? 0;
  t.match(pulled, {
    id: image.id,
    repoTags: [REFERENCE],
    repoDigests: [DIGEST(image)],
    pinned: false,
    uid: { value: 1000n },
    username: '',
  });
  t.ok((pulled?.size ?? 0n) > BigInt(layer), 'layers and documents');
  t.same(names(shim), [DIGEST(image), REFERENCE, image.id].sort(), 'three names, as containerd\'s plugin gives');
  t.ok(names(shim).every((name) => shim.containerd.state(NAMESPACE).images.get(name)?.labels['io.cri-containerd.image'] === 'managed'));
  t.same(leases(shim), []);

  const pod = await shim.runPod();
  const container = await shim.createContainer(pod, { image: { image: image.id, userSpecifiedImage: 'app' } });
  const { status: created } = await shim.cri.runtime.containerStatus({ containerId: container });
  t.match(created, { imageId: image.id, imageRef: DIGEST(image), image: { image: REFERENCE, userSpecifiedImage: 'app' } });
});

test('an image is found by every form of its name, and by the beginning of its id', async (t) => {
  const { shim, image } = await withPullable(t);
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  const forms = [REFERENCE, DIGEST(image), `${REFERENCE}@${image.target.digest}`, image.id, image.id.slice(7), image.id.slice(7, 19), image.id.slice(0, 20)];
  for (const form of forms) t.equal((await status_(shim, form))?.id, image.id, form);
  for (const form of [image.id.slice(7, 13), 'reg.test:5000/team/app', 'reg.test:5000/team/app:2', `reg.test/other@${image.target.digest}`]) {
    t.equal(await status_(shim, form), undefined, form);
  }
  t.equal((await shim.cri.image.listImages({ filter: { image: { image: DIGEST(image) } } })).images.length, 1);
  t.equal((await shim.cri.image.listImages({ filter: { image: { image: 'reg.test/no:1' } } })).images.length, 0);
});

test('names without a registry or a tag are completed as everybody does', async (t) => {
  const { shim, image } = await withPullable(t, {}, 'docker.io/library/busybox:latest');
  t.equal((await shim.cri.image.pullImage({ image: { image: 'busybox' } })).imageRef, image.id);
  t.same((await status_(shim, 'busybox'))?.repoTags, ['docker.io/library/busybox:latest']);
  t.equal((await status_(shim, 'docker.io/busybox'))?.id, image.id);
});

test('the user of an image by name', async (t) => {
  const { shim, image } = await withPullable(t, { image: fake('app', { User: 'app:staff' }) });
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  t.match(await status_(shim, REFERENCE), { uid: undefined, username: /^app$/, spec: { image: image.id } });
});

test('a pull by digest has no tag', async (t) => {
  const image = fake('app');
  const { shim } = await withPullable(t, { image }, DIGEST(image));
  await shim.cri.image.pullImage({ image: { image: `${REFERENCE}@${image.target.digest}` } });
  t.match(await status_(shim, image.id), { repoTags: [], repoDigests: [DIGEST(image)] });
});

const secretAuth = (auth: DeepPartial<AuthConfig>) => auth;
const credentials: readonly [string, DeepPartial<AuthConfig>, object | undefined][] = [
  ['user name and password', secretAuth({ username: 'u', password: 'hunter2' }), { authType: 1, username: 'u', secret: 'hunter2' }],
  ['base64 auth', secretAuth({ auth: Buffer.from('u:hun:ter2').toString('base64') }), { authType: 1, username: 'u', secret: 'hun:ter2' }],
  ['an identity token', secretAuth({ identityToken: 'hunter2' }), { authType: 2, username: '', secret: 'hunter2' }],
  ['the server\'s address', secretAuth({ username: 'u', password: 'hunter2', serverAddress: 'reg.test:5000' }), { authType: 1, username: 'u' }],
  ['its address with scheme and path', secretAuth({ username: 'u', password: 'hunter2', serverAddress: 'https://reg.test:5000/v2/' }), { authType: 1, username: 'u' }],
  ['the address of another server', secretAuth({ username: 'u', password: 'hunter2', serverAddress: 'other.test' }), undefined],
  ['nothing in it', secretAuth({}), undefined],
];
for (const [form, auth, expected] of credentials) {
  test(`credentials: ${form}`, async (t) => {
    let answer: object | undefined;
    const { shim, image } = await withPullable(t, {
      auth: {
        host: 'reg.test:5000',
        accepts: (given) => {
          answer = given;
          return given.secret !== '';
        },
      },
    });
    const pull = shim.cri.image.pullImage({ image: { image: REFERENCE }, auth });
    if (expected === undefined) {
      await t.rejects(pull, { code: status.UNAUTHENTICATED, details: /reg\.test:5000\/team\/app:1/ });
      t.match(answer ?? { secret: '' }, { secret: '' }, 'no credentials were given');
      t.same(names(shim), []);
    } else {
      t.equal((await pull).imageRef, image.id);
      t.match(answer, expected);
    }
    t.same(leases(shim), []);
    t.notOk(shim.logLines.some((line) => /hunter2|hun:ter2/.test(line)), 'no secret in the log');
    t.notOk(shim.logLines.some((line) => auth.auth !== undefined && line.includes(auth.auth)), 'nor its base64');
  });
}

test('Docker Hub\'s address in a stored login', async (t) => {
  const reference = 'docker.io/library/busybox:latest';
  const { shim, image } = await withPullable(t, { auth: { host: 'registry-1.docker.io' } }, reference);
  const auth = { username: 'u', password: 'p', serverAddress: 'https://index.docker.io/v1/' };
  t.equal((await shim.cri.image.pullImage({ image: { image: 'busybox' }, auth })).imageRef, image.id);
});

test('auth that is no base64 of user:password is refused without saying what it is', async (t) => {
  const { shim } = await withPullable(t);
  const auth = Buffer.from('hunter2').toString('base64');
  const error = await shim.cri.image.pullImage({ image: { image: REFERENCE }, auth: { auth } }).catch((reason: Error) => reason);
  t.match(error, { code: status.INVALID_ARGUMENT, details: /auth\.auth/ });
  t.notMatch(String(error), /hunter2/);
  t.notMatch(String(error), new RegExp(auth));
  t.same(leases(shim), []);
});

const source = (shim: Shim) => {
  const request = shim.containerd.control.requests('transfer.transfer').at(-1) as { source: { value: Uint8Array } };
  return Buffer.from(request.source.value).toString('latin1');
};

test('a registry token goes out with the requests, where no mirror could see it', async (t) => {
  const { shim, image } = await withPullable(t);
  const auth = { registryToken: 'tok-hunter2' };
  t.equal((await shim.cri.image.pullImage({ image: { image: REFERENCE }, auth })).imageRef, image.id);
  t.match(source(shim), /Bearer tok-hunter2/);
  t.notOk(shim.logLines.some((line) => line.includes('hunter2')));
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  t.notMatch(source(shim), /Bearer/, 'the next pull does not have it');
});

for (const [dir, toml, refused] of [
  ['reg.test:5000', '[host."http://mirror.test"]\n', true],
  ['reg.test_5000_', '[host."http://mirror.test"]\n', true],
  ['_default', '[host."http://mirror.test"]\n', true],
  ['reg.test:5000', 'server = "https://elsewhere.test"\n', true],
  ['reg.test:5000', 'server = "https://reg.test:5000"\n[host."http://reg.test:5000"]\n', false],
  ['other.test', '[host."http://mirror.test"]\n', false],
] as const) {
  test(`a registry token and ${dir}/hosts.toml with ${JSON.stringify(toml)}: ${refused ? 'refused' : 'used'}`, async (t) => {
    const { shim } = await withPullable(t);
    await mkdir(join(shim.config.image.hostsDir, dir), { recursive: true });
    await writeFile(join(shim.config.image.hostsDir, dir, 'hosts.toml'), toml);
    const pull = shim.cri.image.pullImage({ image: { image: REFERENCE }, auth: { registryToken: 'hunter2' } });
    if (refused) {
      await t.rejects(pull, { code: status.FAILED_PRECONDITION, details: /registry_token .*(mirror|elsewhere)\.test/ });
      t.same(shim.containerd.control.requests('transfer.transfer'), [], 'nothing was sent');
    } else {
      await pull;
      t.match(source(shim), /Bearer hunter2/);
    }
    t.same(leases(shim), []);
  });
}

const failures: readonly [string, { code: status; details: string }, { code: status; details: RegExp }][] = [
  ['404', { code: status.NOT_FOUND, details: 'failed to resolve image: reg.test:5000/team/app:1: not found' }, { code: status.NOT_FOUND, details: /app:1/ }],
  [
    '401',
    { code: status.UNKNOWN, details: 'failed to resolve image: failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://reg.test:5000/token: 401 Unauthorized' },
    { code: status.UNAUTHENTICATED, details: /app:1.*401/ },
  ],
  [
    '403',
    { code: status.UNKNOWN, details: 'failed to resolve image: unexpected status from HEAD request to https://reg.test:5000/v2/team/app/manifests/1: 403 Forbidden' },
    { code: status.PERMISSION_DENIED, details: /app:1.*403/ },
  ],
  [
    '429',
    { code: status.UNKNOWN, details: 'failed to copy: httpReadSeeker: failed open: unexpected status code https://reg.test:5000/v2/team/app/manifests/sha256:00: 429 Too Many Requests' },
    { code: status.RESOURCE_EXHAUSTED, details: /app:1.*429/ },
  ],
  [
    '500',
    { code: status.UNKNOWN, details: 'failed to resolve image: unexpected status from HEAD request to https://reg.test:5000/v2/team/app/manifests/1: 500 Internal Server Error' },
    { code: status.UNKNOWN, details: /^RegistryUnavailable: .*app:1.*500/ },
  ],
  [
    '503 of a blob',
    { code: status.UNKNOWN, details: 'failed to copy: httpReadSeeker: failed open: unexpected status code https://reg.test:5000/v2/team/app/blobs/sha256:00: 503 Service Unavailable' },
    { code: status.UNKNOWN, details: /^RegistryUnavailable: / },
  ],
  [
    'connection refused',
    { code: status.UNKNOWN, details: 'failed to resolve image: failed to do request: Head "https://reg.test:5000/v2/team/app/manifests/1": dial tcp 127.0.0.1:5000: connect: connection refused' },
    { code: status.UNKNOWN, details: /^RegistryUnavailable: .*connection refused/ },
  ],
  [
    'no such host',
    { code: status.UNKNOWN, details: 'failed to resolve image: failed to do request: Head "https://reg.test:5000/v2/": dial tcp: lookup reg.test: no such host' },
    { code: status.UNKNOWN, details: /^RegistryUnavailable: / },
  ],
  [
    'garbage',
    { code: status.UNKNOWN, details: 'children: invalid desc sha256:00: invalid character \'<\' looking for beginning of value' },
    { code: status.UNKNOWN, details: /app:1.*invalid character/ },
  ],
  [
    'a wrong digest',
    { code: status.FAILED_PRECONDITION, details: 'failed commit on ref "layer-sha256:00": unexpected commit digest sha256:01, expected sha256:00: failed precondition' },
    { code: status.FAILED_PRECONDITION, details: /app:1.*unexpected commit digest/ },
  ],
];
for (const [what, error, expected] of failures) {
  test(`a registry that answers ${what}`, async (t) => {
    const { shim } = await withPullable(t, { error });
    await t.rejects(shim.cri.image.pullImage({ image: { image: REFERENCE } }), expected);
    t.same(names(shim), []);
    t.same(leases(shim), []);
    t.equal(await status_(shim, REFERENCE), undefined);
  });
}

test('numbers in a name, a port or a digest are no answer of the registry', async (t) => {
  for (const tag of ['401', '403', '429']) {
    const reference = `reg.test:5${tag}/team/${tag}/app:${tag}`;
    const details = `failed to resolve image: failed to do request: Head "https://reg.test:5${tag}/v2/team/${tag}/app/manifests/${tag}": dial tcp 127.0.0.1:5${tag}: connect: connection refused`;
    const { shim } = await withPullable(t, { error: { code: status.UNKNOWN, details } }, reference);
    await t.rejects(shim.cri.image.pullImage({ image: { image: reference } }), { code: status.UNKNOWN, details: /^RegistryUnavailable: / });
  }
});

test('an index without this platform: NOT_FOUND, and no half image stays', async (t) => {
  const { shim } = await withPullable(t, { image: fakeImage({ platform: { os: 'linux', architecture: 'sparc' }, index: true }), withoutPlatform: true });
  await t.rejects(shim.cri.image.pullImage({ image: { image: REFERENCE } }), { code: status.NOT_FOUND, details: /app:1 is not there for this platform.*linux\/sparc/ });
  t.same(names(shim), []);
  t.same(leases(shim), []);
  t.equal((await shim.cri.image.listImages({})).images.length, 1);
});

test('a cancelled pull ends at once and leaves nothing', async (t) => {
  const { shim } = await withPullable(t, { stall: 'downloading' });
  const abort = new AbortController();
  const pull = shim.cri.image.pullImage({ image: { image: REFERENCE } }, { signal: abort.signal });
  await eventually(() => {
    if (leases(shim).length === 0 || shim.containerd.control.requests('transfer.transfer').length === 0) throw new Error('not begun');
  });
  abort.abort();
  await t.rejects(pull, { code: status.CANCELLED });
  await eventually(() => {
    if (leases(shim).length > 0) throw new Error('lease');
  });
  t.same(names(shim), []);
});

test('I2 a registry that stops answering: the pull ends within the progress limit and says so', async (t) => {
  const shim = await Shim.start({ change: (config) => ({ ...config, image: { ...config.image, pullProgressTimeout: 300 } }) });
  t.teardown(() => shim.close());
  shim.containerd.registry.set(REFERENCE, { image: fake('app'), stall: 'downloading' });
  const began = Date.now();
  await t.rejects(shim.cri.image.pullImage({ image: { image: REFERENCE } }), { code: status.UNKNOWN, details: /^RegistryUnavailable: .*app:1/ });
  t.ok(Date.now() - began < 3_000);
  t.same(leases(shim), []);
});

test('I6 a slow unpacking is no stall', async (t) => {
  const shim = await Shim.start({ change: (config) => ({ ...config, image: { ...config.image, pullProgressTimeout: 200 } }) });
  t.teardown(() => shim.close());
  const image = fake('app');
  shim.containerd.registry.set(REFERENCE, { image, stall: 'unpacking' });
  const pull = shim.cri.image.pullImage({ image: { image: REFERENCE } });
  await new Promise((resolve) => setTimeout(resolve, 800));
  shim.containerd.registry.release();
  t.equal((await pull).imageRef, image.id);
});

test('a lease whose answer is lost is ended too, and a failed pull says why, whatever the lease does', async (t) => {
  const { shim, image } = await withPullable(t);
  const { control } = shim.containerd;
  control.fail('leases.create', { code: status.UNAVAILABLE, afterwards: true, times: 1 });
  await t.rejects(shim.cri.image.pullImage({ image: { image: REFERENCE } }), { code: status.UNAVAILABLE });
  t.same(leases(shim), []);
  control.fail('leases.delete', { code: status.INTERNAL, details: 'no lease today', times: 2 });
  t.equal((await shim.cri.image.pullImage({ image: { image: REFERENCE } })).imageRef, image.id, 'the image is there');
  shim.containerd.registry.delete(REFERENCE);
  await t.rejects(shim.cri.image.pullImage({ image: { image: REFERENCE } }), { code: status.NOT_FOUND });
  for (const { lease } of shim.containerd.state(NAMESPACE).leases.values()) {
    t.match(lease.labels, { 'containerd.io/gc.expire': /^\d{4}-\d\d-\d\dT/ }, 'containerd ends it by itself');
  }
});

test('I3 one image under three names: RemoveImage by any of them removes all', async (t) => {
  const image = fake('app');
  for (const form of [REFERENCE, 'other.test/app:2', DIGEST(image), image.id, image.id.slice(7), image.id.slice(7, 20)]) {
    const { shim } = await withPullable(t, { image });
    shim.containerd.registry.set('other.test/app:2', { image });
    shim.containerd.registry.set('reg.test:5000/team/app:3', { image });
    for (const reference of [REFERENCE, 'other.test/app:2', 'reg.test:5000/team/app:3']) await shim.cri.image.pullImage({ image: { image: reference } });
    t.match(await status_(shim, image.id), {
      repoTags: ['other.test/app:2', REFERENCE, 'reg.test:5000/team/app:3'],
      repoDigests: [`other.test/app@${image.target.digest}`, DIGEST(image)],
    });
    await shim.cri.image.removeImage({ image: { image: form } });
    t.same(names(shim), [], form);
    t.equal(await status_(shim, image.id), undefined);
    await shim.cri.image.removeImage({ image: { image: form } });
  }
});

test('I3 an image is removed while a container uses it: the container goes on', async (t) => {
  const { shim, image } = await withPullable(t);
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod, { image: { image: REFERENCE } });
  await shim.cri.image.removeImage({ image: { image: REFERENCE } });
  const { status: container } = await shim.cri.runtime.containerStatus({ containerId });
  t.match(container, { state: 1, imageId: image.id, imageRef: DIGEST(image), image: { image: REFERENCE } });
});

test('I4 images that other clients make, tag, move and remove', async (t) => {
  const { shim } = await withPullable(t);
  const other = shim.otherClient();
  const [first, second] = [fake('first'), fake('second')];
  shim.containerd.addImage(NAMESPACE, 'foreign.test/app:1', first);
  await until(shim, (images) => images.some(({ id }) => id === first.id));
  await other.images.create(fakeImageRecord('foreign.test/app:stable', first));
  await until(shim, (images) => images.some(({ repoTags }) => repoTags.includes('foreign.test/app:stable')));
  shim.containerd.addImage(NAMESPACE, 'foreign.test/app:stable', second);
  await until(shim, (images) => images.find(({ id }) => id === second.id)?.repoTags[0] === 'foreign.test/app:stable');
  t.same((await status_(shim, first.id))?.repoTags, ['foreign.test/app:1'], 'the tag has moved');
  await other.images.delete('foreign.test/app:1');
  await until(shim, (images) => !images.some(({ id }) => id === first.id));
  t.equal((await status_(shim, 'foreign.test/app:stable'))?.id, second.id);
});

test('I4 the same tag with a new digest: the old image stays, by digest', async (t) => {
  const { shim, image: old } = await withPullable(t);
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  const next = fake('next');
  shim.containerd.registry.set(REFERENCE, { image: next });
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  t.match(await status_(shim, REFERENCE), { id: next.id, repoTags: [REFERENCE], repoDigests: [DIGEST(next)] });
  t.match(await status_(shim, DIGEST(old)), { id: old.id, repoTags: [], repoDigests: [DIGEST(old)] });
});

test('pinned: by the label, whoever set it, and by the annotation of a pull', async (t) => {
  const { shim } = await withPullable(t);
  shim.containerd.addImage(NAMESPACE, 'foreign.test/pinned:1', fake('pinned'), { labels: { 'io.cri-containerd.pinned': 'pinned' } });
  shim.containerd.addImage(NAMESPACE, 'foreign.test/odd:1', fake('odd'), { labels: { 'io.cri-containerd.pinned': 'true' } });
  await until(shim, (images) => images.length === 3);
  t.equal((await status_(shim, 'foreign.test/pinned:1'))?.pinned, true);
  t.equal((await status_(shim, 'foreign.test/odd:1'))?.pinned, false, 'only that value');
  await shim.cri.image.pullImage({ image: { image: REFERENCE, annotations: { 'io.cri-containerd.pinned': 'pinned' } } });
  t.equal((await status_(shim, REFERENCE))?.pinned, true);
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  t.equal((await status_(shim, REFERENCE))?.pinned, true, 'a later pull does not take it away');
  await shim.restart();
  t.equal((await status_(shim, REFERENCE))?.pinned, true);
});

test('I5 a configured sandbox image is pulled once, pinned, and needs no network when it is there', async (t) => {
  const sandboxImage = 'reg.test:5000/pause:1';
  const image = fakeImage({ config: { Entrypoint: ['/pause'] }, files: { pause: 'x' } });
  const shim = await Shim.start({ change: (config) => ({ ...config, sandboxImage }) });
  t.teardown(() => shim.close());
  await t.rejects(shim.runPod(), { code: status.NOT_FOUND, details: /^plan: .*pause:1/ });
  shim.containerd.registry.set(sandboxImage, { image });
  const pod = await shim.runPod();
  t.match(shim.containerd.state(NAMESPACE).containers.get(pod), { image: sandboxImage, snapshotKey: pod, snapshotter: 'overlayfs' });
  shim.containerd.registry.delete(sandboxImage);
  for (const form of [sandboxImage, image.id, `reg.test:5000/pause@${image.target.digest}`]) t.equal((await status_(shim, form))?.pinned, true, form);
  await shim.restart();
  t.equal((await status_(shim, sandboxImage))?.pinned, true);
  await shim.runPod({ metadata: { name: 'two', namespace: 'ns', uid: 'uid-2' } });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.notOk(shim.containerd.state(NAMESPACE).snapshotsOf('overlayfs').has(pod), 'its snapshot is gone');
});

test('I1 a broken image among good ones is not shown, and a pull heals it', async (t) => {
  const { shim, image } = await withPullable(t);
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  const state = shim.containerd.state(NAMESPACE);
  state.blobs.delete(image.id);
  await shim.restart();
  t.same((await shim.cri.image.listImages({})).images.map(({ repoTags }) => repoTags), [[IMAGE]]);
  t.equal(await status_(shim, REFERENCE), undefined);
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  t.equal((await status_(shim, REFERENCE))?.id, image.id);
});

test('parallel pulls of one image all succeed', async (t) => {
  const { shim, image } = await withPullable(t, { layerMs: 50 });
  const pulls = Array.from({ length: 8 }, () => shim.cri.image.pullImage({ image: { image: REFERENCE } }));
  t.same(new Set((await Promise.all(pulls)).map(({ imageRef }) => imageRef)), new Set([image.id]));
  t.same(names(shim), [DIGEST(image), REFERENCE, image.id].sort());
  t.same(leases(shim), []);
});

test('max_parallel_pulls: the others wait their turn', async (t) => {
  const shim = await Shim.start({ change: (config) => ({ ...config, image: { ...config.image, maxParallelPulls: 1 } }) });
  t.teardown(() => shim.close());
  shim.containerd.registry.set('a.test/a:1', { image: fake('a'), stall: 'downloading' });
  shim.containerd.registry.set('a.test/b:1', { image: fake('b') });
  const first = shim.cri.image.pullImage({ image: { image: 'a.test/a:1' } });
  await eventually(() => {
    if (shim.containerd.control.requests('transfer.transfer').length === 0) throw new Error('not begun');
  });
  await t.rejects(shim.cri.image.pullImage({ image: { image: 'a.test/b:1' } }, { timeoutMs: 200 }), { code: status.DEADLINE_EXCEEDED });
  const second = shim.cri.image.pullImage({ image: { image: 'a.test/b:1' } });
  t.equal(shim.containerd.control.requests('transfer.transfer').length, 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  shim.containerd.registry.release();
  await Promise.all([first, second]);
});

test('a runtime handler that is not configured', async (t) => {
  const { shim } = await withPullable(t);
  const image = { image: REFERENCE, runtimeHandler: 'nope' };
  await t.rejects(shim.cri.image.pullImage({ image }), { code: status.INVALID_ARGUMENT, details: /nope/ });
});

test('ImageStatus verbose: what crictl inspecti shows', async (t) => {
  const { shim } = await withPullable(t, { image: fake('app', { Env: ['A=B'] }) });
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  const { info } = await shim.cri.image.imageStatus({ image: { image: REFERENCE }, verbose: true });
  t.match(JSON.parse(info.info ?? ''), { chainID: /^sha256:/, imageSpec: { config: { Env: ['A=B'] } } });
});

test('ImageFsInfo: the snapshotter\'s file system and what is used on it', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const directory = join(shim.containerd.dir, 'root/io.containerd.snapshotter.v1.overlayfs');
  await mkdir(directory, { recursive: true });
  const { imageFilesystems, containerFilesystems } = await shim.cri.image.imageFsInfo({});
  t.equal(imageFilesystems.length, 1);
  t.equal(imageFilesystems[0]?.fsId?.mountpoint, directory);
  t.ok((imageFilesystems[0]?.usedBytes?.value ?? 0n) > 0n);
  t.ok((imageFilesystems[0]?.inodesUsed?.value ?? 0n) > 0n);
  t.ok((imageFilesystems[0]?.timestamp ?? 0n) > 1_700_000_000_000_000_000n);
  t.same(containerFilesystems, imageFilesystems);
});
