import { readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { MountPropagation, type DeepPartial, type Mount } from '@criquet/cri-api';
import { decodeSpec, type SpecMount } from '@criquet/runtime-containerd';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { test, type Test } from 'tap';
import { mount, MountFlag, unmount } from '../../src/runtime/mount.js';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

/** `<sys/mount.h>` */
const MS_SHARED = 1 << 20;
const VOLUME = 'registry.test/volume:1';
const AT = '/mnt/image-volume';
const MAPPED = [{ hostId: 100_000, containerId: 0, length: 65_536 }];
const image = fakeImage({ files: { 'data/a': 'in a', 'file': 'a file', 'root-file': 'x' } });

/** A node that has the image of the volumes, with a pod. */
async function start(t: Test): Promise<{ shim: Shim; pod: string }> {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  shim.containerd.addImage(NAMESPACE, VOLUME, image);
  const layers = shim.containerd.state(NAMESPACE).snapshotsOf('overlayfs').get(image.chainId)?.dir ?? '';
  await symlink('/data', join(layers, 'absolute'));
  await symlink('../../../../../../../../data', join(layers, 'climbing'));
  await symlink('/etc', join(layers, 'etc-link'));
  await symlink('circle', join(layers, 'circle'));
  await eventually(async () => {
    if ((await shim.cri.image.listImages({})).images.length < 2) throw new Error('images');
  });
  return { shim, pod: await shim.runPod() };
}

const volume = (change: DeepPartial<Mount> = {}): DeepPartial<Mount> => ({ containerPath: AT, readonly: true, image: { image: VOLUME }, ...change });

function mountAt(shim: Shim, containerId: string, path = AT): SpecMount | undefined {
  const record = shim.containerd.state(NAMESPACE).containers.get(containerId);
  return decodeSpec(record?.spec as never).mounts?.find(({ destination }) => destination === path);
}

test('an image as a volume: bound read-only into the container, with its id in the status, and gone with the container', async (t) => {
  const { shim, pod } = await start(t);
  const containerId = await shim.createContainer(pod, { mounts: [volume(), volume({ containerPath: '/second', image: { image: image.id } })] });
  const bound = mountAt(shim, containerId);
  t.match(bound, { type: 'bind', options: ['rbind', 'rprivate', 'ro'] });
  const source = bound?.source ?? '';
  t.equal(await readFile(join(source, 'data/a'), 'utf8'), 'in a');
  await t.rejects(writeFile(join(source, 'data/new'), ''), { code: 'EROFS' });
  t.not(mountAt(shim, containerId, '/second')?.source, source);

  const { status: found } = await shim.cri.runtime.containerStatus({ containerId });
  t.match(found?.mounts, [
    { containerPath: AT, readonly: true, hostPath: '', image: { image: VOLUME, imageRef: image.id } },
    { containerPath: '/second', image: { image: image.id, imageRef: image.id } },
  ]);

  const { containers, snapshotsOf } = shim.containerd.state(NAMESPACE);
  const views = [...snapshotsOf.call(shim.containerd.state(NAMESPACE), 'overlayfs').values()].filter(({ info }) => info.parent === image.chainId);
  t.same(views.map(({ info }) => info.name).sort(), [`${containerId}-image-0`, `${containerId}-image-1`]);
  t.match(containers.get(containerId)?.labels, {
    'containerd.io/gc.ref.snapshot.overlayfs/image-0': `${containerId}-image-0`,
    'containerd.io/gc.ref.snapshot.overlayfs/image-1': `${containerId}-image-1`,
  });

  await shim.cri.image.removeImage({ image: { image: VOLUME } });
  t.equal(await readFile(join(source, 'data/a'), 'utf8'), 'in a', 'an image that is removed stays while it is mounted');
  await shim.cri.runtime.startContainer({ containerId });
  await shim.cri.runtime.removeContainer({ containerId });
  t.same((await shim.leftovers()).filter((what) => what.includes(containerId)), []);
});

test('image_sub_path: a directory of the image, whatever links lead to it', async (t) => {
  const { shim, pod } = await start(t);
  const paths = ['data', 'absolute', 'climbing', './data/'];
  const containerId = await shim.createContainer(pod, {
    mounts: paths.map((imageSubPath, index) => volume({ containerPath: `/m${index}`, imageSubPath })),
  });
  for (const [index, path] of paths.entries()) {
    t.same(await readdir(mountAt(shim, containerId, `/m${index}`)?.source ?? ''), ['a'], path);
  }
  const { status: found } = await shim.cri.runtime.containerStatus({ containerId });
  t.equal(found?.mounts[1]?.imageSubPath, 'absolute');
  await shim.cri.runtime.removeContainer({ containerId });
  t.same((await shim.leftovers()).filter((what) => what.includes(containerId)), []);
});

test('image_sub_path where mounts are shared: the snapshot itself stays as it is', async (t) => {
  const { shim, pod } = await start(t);
  const { snapshotsOf } = shim.containerd.state(NAMESPACE);
  const snapshots = snapshotsOf.call(shim.containerd.state(NAMESPACE), 'overlayfs');
  const all = dirname(snapshots.get(image.chainId)?.dir ?? '');
  mount(all, all, '', MountFlag.bind, '');
  t.teardown(() => unmount(all));
  mount('', all, '', MS_SHARED, '');
  const containerId = await shim.createContainer(pod, { mounts: [volume({ imageSubPath: 'data' })] });
  t.same(await readdir(mountAt(shim, containerId)?.source ?? ''), ['a']);
  t.ok((await readdir(snapshots.get(`${containerId}-image-0`)?.dir ?? '')).includes('root-file'), 'who else uses it sees all of it');
  await shim.cri.runtime.removeContainer({ containerId });
});

const refused: readonly { what: string; change: DeepPartial<Mount>; code: status; says: RegExp }[] = [
  { what: 'that may be written to', change: { readonly: false }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.readonly/ },
  { what: 'with a host path beside it', change: { hostPath: '/tmp' }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.host_path/ },
  { what: 'without a reference', change: { image: { image: '' } }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.image\.image/ },
  { what: 'that is not on the node', change: { image: { image: 'registry.test/no:1' } }, code: status.NOT_FOUND, says: /mounts\[0\]: .*registry\.test\/no:1/ },
  { what: 'with bidirectional propagation', change: { propagation: MountPropagation.PROPAGATION_BIDIRECTIONAL }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.propagation/ },
  { what: 'with a sub-path that is not there', change: { imageSubPath: 'not-existing' }, code: status.NOT_FOUND, says: /mounts\[0\]: .*"not-existing"/ },
  { what: 'with a sub-path that a link takes out of the image', change: { imageSubPath: 'etc-link' }, code: status.NOT_FOUND, says: /mounts\[0\]: .*"etc-link"/ },
  { what: 'with a sub-path that is a file', change: { imageSubPath: 'file' }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]: .*"file" is no directory/ },
  { what: 'with an absolute sub-path', change: { imageSubPath: '/data' }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.image_sub_path/ },
  { what: 'with a sub-path of 5000 characters', change: { imageSubPath: 'a'.repeat(5000) }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.image_sub_path: is longer than .{0,40}$/ },
  { what: 'with a sub-path of many names', change: { imageSubPath: 'ab/'.repeat(1400) }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.image_sub_path: is longer than .{0,40}$/ },
  { what: 'with a sub-path of which a name is too long', change: { imageSubPath: `data/${'ä'.repeat(128)}` }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.image_sub_path: .*name.{0,40}$/ },
  { what: 'with a sub-path of links that go round in a circle', change: { imageSubPath: 'circle/x' }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]: .*image_sub_path: .*symbolic links/ },
  { what: 'with user ids mapped in a pod without a user namespace', change: { uidMappings: MAPPED }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.uidMappings: / },
  { what: 'with group ids mapped in a pod without a user namespace', change: { gidMappings: MAPPED }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.gidMappings: / },
  { what: 'with a sub-path that climbs', change: { imageSubPath: 'data/../..' }, code: status.INVALID_ARGUMENT, says: /mounts\[0\]\.image_sub_path/ },
];

for (const { what, change, code, says } of refused) {
  test(`an image ${what}: the message begins as CRI says, and nothing is left`, async (t) => {
    const { shim, pod } = await start(t);
    const before = await shim.leftovers();
    const error = await shim.createContainer(pod, { mounts: [volume(change)] }).catch((reason: unknown) => reason as { code: status; details: string });
    t.match(error, { code, details: says });
    t.match(error, { details: /^ImageVolumeMountFailed: / });
    t.same(await shim.leftovers(), before);
  });
}

test('a snapshot that cannot be made: the message begins as CRI says, and nothing is left', async (t) => {
  const { shim, pod } = await start(t);
  const before = await shim.leftovers();
  shim.containerd.control.fail('snapshots.view', { code: status.UNKNOWN, details: 'disk full' });
  await t.rejects(shim.createContainer(pod, { mounts: [volume()] }), { code: status.UNKNOWN, details: /^ImageVolumeMountFailed: mount the image volumes: config\.mounts\[0\]: .*disk full/ });
  t.same(await shim.leftovers(), before);
});

for (const step of ['write the record', 'mount the image volumes', 'label the mounts', 'prepare the snapshot', 'look up the user', 'write the spec'] as const) {
  test(`killed in CreateContainer at "${step}" with an image volume: nothing of it is left after a retry and its end`, async (t) => {
    const { shim, pod } = await start(t);
    const change = { mounts: [volume({ imageSubPath: 'data' })] };
    await shim.failpoints.holdUntilReached(`CreateContainer/${step}`, () => shim.createContainer(pod, change).catch(() => undefined));
    await shim.killAndRestart();
    t.same((await shim.cri.runtime.listContainers({})).containers, []);
    t.notOk((await shim.leftovers()).some((what) => what.includes('image-')), 'mount and snapshot of the first attempt are gone');
    const containerId = await shim.createContainer(pod, change);
    t.same(await readdir(mountAt(shim, containerId)?.source ?? ''), ['a']);
    await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
    await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
    t.same(await shim.leftovers(), []);
  });
}

test('an image volume of a running container outlives a restart of the daemon and can still be removed', async (t) => {
  const { shim, pod } = await start(t);
  const containerId = await shim.startContainer(pod, { mounts: [volume()] });
  await shim.killAndRestart();
  t.equal(await readFile(join(mountAt(shim, containerId)?.source ?? '', 'data/a'), 'utf8'), 'in a');
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status?.mounts, [{ image: { imageRef: image.id } }]);
  await shim.cri.runtime.removeContainer({ containerId });
  t.same((await shim.leftovers()).filter((what) => what.includes(containerId)), []);
});

test('a record that cannot be read: its image volumes are unmounted too', async (t) => {
  const { shim, pod } = await start(t);
  const containerId = await shim.createContainer(pod, { mounts: [volume()] });
  const record = shim.containerd.state(NAMESPACE).containers.get(containerId);
  for (const extension of Object.values(record?.extensions ?? {})) extension.value = Buffer.from('{"version":99}');
  await shim.killAndRestart();
  await shim.cri.runtime.removeContainer({ containerId });
  t.same((await shim.leftovers()).filter((what) => what.includes(containerId) && what.startsWith('mount')), []);
});
