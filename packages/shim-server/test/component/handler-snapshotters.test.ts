import { mkdir } from 'node:fs/promises';
import { status } from '@grpc/grpc-js';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { test, type Test } from 'tap';
import { IMAGE, NAMESPACE, Shim } from './shim-harness.js';
import { withHandlers } from './with-handlers.js';

const REFERENCE = 'reg.test/team/app:1';
const image = fakeImage({ config: { Cmd: ['/pulled'] }, files: { 'etc/passwd': 'app:x:1000:1000::/:/bin/sh\n', pulled: 'pulled' } });

/** The handler `special` uses the snapshotter `native`, everything else `overlayfs`. */
async function start(t: Test): Promise<Shim> {
  const shim = await Shim.start({ change: withHandlers({ special: { snapshotter: 'native' } }) });
  t.teardown(() => shim.close());
  shim.containerd.registry.set(REFERENCE, { image });
  return shim;
}

const held = (shim: Shim, snapshotter: string) => [...shim.containerd.state(NAMESPACE).snapshotsOf(snapshotter).keys()];
const runPod = async (shim: Shim, runtimeHandler = 'special') => (await shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig(), runtimeHandler })).podSandboxId;

test('a pull unpacks for the snapshotter of the handler that image.runtime_handler names', async (t) => {
  const shim = await start(t);
  await shim.cri.image.pullImage({ image: { image: REFERENCE, runtimeHandler: 'special' } });
  t.ok(held(shim, 'native').includes(image.chainId));
  t.notOk(held(shim, 'overlayfs').includes(image.chainId));
  await shim.cri.image.pullImage({ image: { image: REFERENCE } });
  t.ok(held(shim, 'overlayfs').includes(image.chainId));
  await t.rejects(shim.cri.image.pullImage({ image: { image: REFERENCE, runtimeHandler: 'nope' } }), { code: status.INVALID_ARGUMENT, details: /runtime_handler.*nope/ });
});

test("a container lives in its handler's snapshotter, which is given the image when it has not got it", async (t) => {
  const shim = await start(t);
  const pod = await runPod(shim);
  t.same(held(shim, 'native'), []);
  const container = await shim.startContainer(pod, { linux: { securityContext: { runAsUsername: 'app' } } });
  const native = held(shim, 'native');
  t.equal(native.length, 2, 'the layer and the container, nothing half unpacked');
  t.ok(native.includes(container));
  t.notOk(held(shim, 'overlayfs').includes(container));
  t.equal(shim.containerd.state(NAMESPACE).containers.get(container)?.snapshotter, 'native');
  const { info, status: told } = await shim.cri.runtime.containerStatus({ containerId: container, verbose: true });
  t.match(JSON.parse(info.info ?? ''), { snapshotter: 'native', snapshotKey: container });
  t.equal(told?.user?.linux?.uid, 1000n, 'its files are those of the image');
  shim.containerd.collectGarbage(NAMESPACE);
  t.equal(held(shim, 'native').length, 2, 'the image keeps what was unpacked');
  t.same([...shim.containerd.state(NAMESPACE).leases.keys()], []);
  const { stats } = await shim.cri.runtime.containerStats({ containerId: container });
  t.match(stats?.writableLayer?.fsId?.mountpoint, /snapshotter\.v1\.native$/);
  await shim.restart();
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.notOk(held(shim, 'native').includes(container));
  t.same(await shim.leftovers(), []);
});

test('containers made at once for the first time unpack an image once', async (t) => {
  const shim = await start(t);
  const pod = await runPod(shim);
  await Promise.all(['a', 'b', 'c'].map((name) => shim.createContainer(pod, { metadata: { name, attempt: 0 } })));
  t.equal(shim.containerd.control.requests('diff.apply').length, 1);
});

test('an image whose layers are gone cannot be unpacked: the error says to pull it again, nothing is left', async (t) => {
  const shim = await start(t);
  const pod = await runPod(shim);
  const [layer] = shim.image.blobs;
  shim.containerd.state(NAMESPACE).blobs.delete(layer?.digest ?? '');
  await t.rejects(shim.createContainer(pod), { code: status.FAILED_PRECONDITION, details: /prepare the snapshot.*not unpacked for snapshotter native.*pull it again/ });
  t.same(held(shim, 'native'), []);
  t.same((await shim.cri.runtime.listContainers({})).containers, []);
});

test('a layer that is not what the config says is refused and nothing of it is left', async (t) => {
  const shim = await start(t);
  const pod = await runPod(shim);
  const [layer] = shim.image.blobs;
  const blob = shim.containerd.state(NAMESPACE).blobs.get(layer?.digest ?? '');
  if (blob === undefined) throw new Error('no layer');
  shim.containerd.state(NAMESPACE).blobs.set(layer?.digest ?? '', { ...blob, data: Buffer.from('layer {"other":"files"}') });
  await t.rejects(shim.createContainer(pod), { code: status.FAILED_PRECONDITION, details: /unpacks to sha256:.*its config says sha256:/ });
  t.same(held(shim, 'native'), []);
});

test('a snapshot that somebody removed is made again', async (t) => {
  const shim = await start(t);
  shim.containerd.state(NAMESPACE).snapshotsOf('overlayfs').clear();
  const pod = await runPod(shim, '');
  await shim.startContainer(pod);
  t.ok(held(shim, 'overlayfs').includes(shim.image.chainId));
});

test("a snapshotter that containerd's unpack_config lacks: images are unpacked all the same, one warning", async (t) => {
  const shim = await start(t);
  shim.containerd.unpackSnapshotters = ['overlayfs'];
  const pull = () => shim.cri.image.pullImage({ image: { image: REFERENCE, runtimeHandler: 'special' } });
  await pull();
  t.ok(held(shim, 'native').includes(image.chainId));
  t.equal((await shim.cri.image.imageStatus({ image: { image: REFERENCE } })).image?.id, image.id);
  shim.containerd.collectGarbage(NAMESPACE);
  t.ok(held(shim, 'native').includes(image.chainId), 'the image keeps it');
  const transfers = () => shim.containerd.control.requests('transfer.transfer').length;
  t.equal(transfers(), 2);
  await pull();
  t.equal(transfers(), 3, 'the next one asks for no unpacking at once');
  t.equal(shim.logLines.filter((line) => line.includes('unpack_config')).length, 1);
  t.same([...shim.containerd.state(NAMESPACE).leases.keys()], []);
});

test('a snapshotter that containerd does not have: the start fails and names it', async (t) => {
  const shim = await start(t);
  await shim.stopServing();
  await t.rejects(shim.startServer(withHandlers({ special: { snapshotter: 'absent' } })(shim.config)), { message: /snapshotter absent is not loaded/ });
  await shim.serve();
});

test('ImageFsInfo: the file system of each snapshotter, the default one first', async (t) => {
  const shim = await start(t);
  await shim.createContainer(await runPod(shim));
  for (const name of ['overlayfs', 'native']) await mkdir(`${shim.containerd.dir}/root/io.containerd.snapshotter.v1.${name}`, { recursive: true });
  const { imageFilesystems, containerFilesystems } = await shim.cri.image.imageFsInfo({});
  t.match(imageFilesystems.map(({ fsId }) => fsId?.mountpoint), [/overlayfs$/, /native$/]);
  t.ok(imageFilesystems.every(({ usedBytes, inodesUsed }) => (usedBytes?.value ?? 0n) > 0n && (inodesUsed?.value ?? 0n) > 0n));
  t.equal(containerFilesystems.length, 2);
});

test('the pause process of sandbox_image lives in the snapshotter of its handler, and goes with the pod also when the option has changed', async (t) => {
  const shim = await start(t);
  await shim.stopServing();
  shim.config = { ...shim.config, sandboxImage: IMAGE };
  await shim.serve();
  const pod = await runPod(shim);
  t.ok(held(shim, 'native').includes(pod));
  await shim.stopServing();
  shim.config = { ...shim.config, sandboxImage: '' };
  await shim.serve();
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.notOk(held(shim, 'native').includes(pod));
});
