import { readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { NamespaceMode } from '@criquet/cri-api';
import { decodeSpec, type SpecMount } from '@criquet/runtime-containerd';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { test, type Test } from 'tap';
import type { CriquetConfig } from '../../src/config/index.js';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

const NAME = 'registry.test/database:1';
const config = { Cmd: ['/db'], Volumes: { '/data': {}, '/data/': {}, 'relative/empty': {}, '/leads/out': {} } };
const image = fakeImage({ config, files: { 'data/seed': 'from the image', 'etc/passwd': 'root:x:0:0::/:/x\n', 'etc/inside': 'of the image' } });

async function start(t: Test, change?: (config: CriquetConfig) => CriquetConfig): Promise<{ shim: Shim; pod: string }> {
  const shim = await Shim.start(change === undefined ? {} : { change });
  t.teardown(() => shim.close());
  await addImage(shim, NAME, image);
  const layers = shim.containerd.state(NAMESPACE).snapshotsOf('overlayfs').get(image.chainId)?.dir ?? '';
  await symlink('../../../../../../../../etc', join(layers, 'leads'));
  await symlink('/etc', join(layers, 'etc/out'));
  return { shim, pod: await shim.runPod() };
}

async function addImage(shim: Shim, name: string, added: typeof image): Promise<void> {
  const { length } = (await shim.cri.image.listImages({})).images;
  shim.containerd.addImage(NAMESPACE, name, added);
  await eventually(async () => {
    if ((await shim.cri.image.listImages({})).images.length === length) throw new Error('images');
  });
}

function mounts(shim: Shim, containerId: string): Map<string, SpecMount> {
  const record = shim.containerd.state(NAMESPACE).containers.get(containerId);
  return new Map((decodeSpec(record?.spec as never).mounts ?? []).map((mount) => [mount.destination, mount]));
}

test('I7 the volumes of an image are directories of the container, filled from the image, and go with it', async (t) => {
  const { shim, pod } = await start(t);
  const wanted = { image: { image: NAME }, linux: { securityContext: { readonlyRootfs: true } } };
  const containerId = await shim.createContainer(pod, wanted);
  const found = mounts(shim, containerId);
  const data = found.get('/data');
  t.match(data, { type: 'bind', options: ['rbind', 'rprivate', 'rw'] }, 'writable also where the root is not');
  t.ok(data?.source?.startsWith(`${shim.config.rootDir}/`));
  t.equal(await readFile(join(data?.source ?? '', 'seed'), 'utf8'), 'from the image');
  t.same(await readdir(found.get('/relative/empty')?.source ?? ''), [], 'one that the image does not have is empty');
  t.ok((await readdir(found.get('/leads/out')?.source ?? '')).includes('inside'), 'links lead into the image, not to the node');

  await writeFile(join(data?.source ?? '', 'seed'), 'changed');
  const second = await shim.createContainer(pod, { ...wanted, metadata: { name: 'second' } });
  t.equal(await readFile(join(mounts(shim, second).get('/data')?.source ?? '', 'seed'), 'utf8'), 'from the image', 'each container has its own');

  for (const id of [containerId, second]) await shim.cri.runtime.removeContainer({ containerId: id });
  t.same((await shim.leftovers()).filter((what) => what.includes('/volumes/')), []);
});

test('I7 a mount of CRI at a place goes before the volume of the image', async (t) => {
  const { shim, pod } = await start(t);
  const hostPath = join(shim.dir, 'mine');
  const containerId = await shim.createContainer(pod, { image: { image: NAME }, mounts: [{ hostPath, containerPath: '/data/' }] });
  const found = mounts(shim, containerId);
  t.equal(found.get('/data')?.source, hostPath);
  t.ok(found.has('/relative/empty'));
  t.equal((await readdir(join(shim.config.rootDir, 'volumes', containerId))).length, 2);
});

test('I7 in a user namespace they are mounted by its ids', async (t) => {
  const shim = await Shim.start({ node: { nodeFacts: { mountSetattr: true, userNamespaces: true } } });
  t.teardown(() => shim.close());
  await addImage(shim, NAME, image);
  const mapping = (hostId: number) => [{ containerId: 0, hostId, length: 65_536 }];
  const linux = { securityContext: { namespaceOptions: { usernsOptions: { mode: NamespaceMode.POD, uids: mapping(200_000), gids: mapping(300_000) } } } };
  const containerId = await shim.createContainer(await shim.runPod({ linux }), { image: { image: NAME }, linux });
  t.match(mounts(shim, containerId).get('/data'), {
    uidMappings: [{ containerID: 0, hostID: 200_000, size: 65_536 }],
    gidMappings: [{ containerID: 0, hostID: 300_000, size: 65_536 }],
  });
});

test('I7 volumes of images can be ignored', async (t) => {
  const { shim, pod } = await start(t, (base) => ({ ...base, container: { ...base.container, ignoreImageDefinedVolumes: true } }));
  const containerId = await shim.createContainer(pod, { image: { image: NAME } });
  const found = mounts(shim, containerId);
  t.notOk(found.has('/data') || found.has('/relative/empty'));
  t.notOk((await shim.leftovers()).some((what) => what.includes('/volumes/')));
});

test('I7 a volume over the root, and one where the image has a file: a clear error, and nothing is left', async (t) => {
  const { shim, pod } = await start(t);
  await addImage(shim, 'registry.test/root:1', fakeImage({ config: { Cmd: ['x'], Volumes: { '/': {} } } }));
  await addImage(shim, 'registry.test/file:1', fakeImage({ config: { Cmd: ['x'], Volumes: { '/f': {} } }, files: { f: '' } }));
  const before = await shim.leftovers();
  const create = (name: string) => shim.createContainer(pod, { image: { image: `registry.test/${name}:1` } });
  await t.rejects(create('root'), { code: status.FAILED_PRECONDITION, details: /root directory as a volume/ });
  await t.rejects(create('file'), { code: status.FAILED_PRECONDITION, details: /"\/f" as a volume and has a file there/ });
  t.same(await shim.leftovers(), before);
});

for (const step of ['write the record', 'prepare the snapshot', 'fill the volumes of the image', 'look up the user', 'write the spec'] as const) {
  test(`I7 killed in CreateContainer at "${step}": the volumes are not taken for filled`, async (t) => {
    const { shim, pod } = await start(t);
    const wanted = { image: { image: NAME } };
    // The user of the image is known from here on, and a creation is shorter by two steps where there are no volumes.
    await shim.cri.runtime.removeContainer({ containerId: await shim.createContainer(pod, wanted) });
    await shim.failpoints.holdUntilReached(`CreateContainer/${step}`, () => shim.createContainer(pod, wanted).catch(() => undefined));
    await shim.killAndRestart();
    t.same((await shim.cri.runtime.listContainers({})).containers, []);
    t.notOk((await shim.leftovers()).some((what) => what.includes('/volumes/')));
    const containerId = await shim.createContainer(pod, wanted);
    t.equal(await readFile(join(mounts(shim, containerId).get('/data')?.source ?? '', 'seed'), 'utf8'), 'from the image');
    await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
    t.same(await shim.leftovers(), []);
  });
}
