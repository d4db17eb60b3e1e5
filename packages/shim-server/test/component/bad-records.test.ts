import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'tap';
import { containerCodec } from '../../src/state/container-record.js';
import { sandboxCodec } from '../../src/state/sandbox-record.js';
import { audit, named, newId, orphans, started, written } from './audit-fixture.js';
import { IMAGE, NAMESPACE, type Shim } from './shim-harness.js';

// One bad thing of each kind that criquet keeps: the start succeeds, the others are as they were, and the bad one is still there or told of.

const byName = (name: string) => ({ metadata: { name, namespace: 'ns', uid: name, attempt: 0 } });

/** What containerd holds of a record's document. */
function document(shim: Shim, id: string) {
  const record = shim.containerd.state(NAMESPACE).containers.get(id);
  const extension = record?.extensions[sandboxCodec.key] ?? record?.extensions[containerCodec.key];
  if (record === undefined || extension === undefined) throw new Error(`no record ${id}`);
  return { record, extension, text: Buffer.from(extension.value).toString() };
}

/** Lines of the log, from warnings on, that name something. */
function toldOf(shim: Shim, what: string): number {
  return shim.logLines.filter((line) => (JSON.parse(line) as { level: number }).level >= 40 && line.includes(what)).length;
}

test('a bad one of each kind beside good ones', async (t) => {
  const { shim, planter } = await started(t);
  const { layout } = planter;
  const good = await shim.runPod(byName('good'));
  const goodContainer = await shim.startContainer(good, { logPath: 'good.log' });
  const newer = await shim.runPod(byName('newer'));
  const newerContainer = await shim.startContainer(newer, { logPath: 'newer.log' });
  const cut = await shim.runPod(byName('cut'));
  const cacheless = await shim.runPod(byName('cacheless'));
  const picture = async () => ({
    pod: (await shim.cri.runtime.podSandboxStatus({ podSandboxId: good })).status,
    container: (await shim.cri.runtime.containerStatus({ containerId: goodContainer })).status,
    images: (await shim.cri.image.listImages({})).images,
  });
  const before = await picture();
  await shim.stopServing();

  const state = shim.containerd.state(NAMESPACE);
  // Records of pods and containers: newer, cut off, of another id, twice.
  const fromTheFuture = new Map<string, string>();
  for (const id of [newer, newerContainer]) {
    const { extension, text } = document(shim, id);
    extension.value = Buffer.from(text.replace('"version":1', '"version":2,"later":true'));
    fromTheFuture.set(id, document(shim, id).text);
  }
  const { extension, text } = document(shim, cut);
  extension.value = Buffer.from(text.slice(0, 40));
  const { record } = document(shim, good);
  const [stolen, twice] = [newId(), newId()];
  state.containers.set(stolen, { ...record, id: stolen });
  const copy = Buffer.from(document(shim, good).text.replaceAll(good, twice));
  state.containers.set(twice, { ...record, id: twice, extensions: { [sandboxCodec.key]: { typeUrl: `${sandboxCodec.key}/v1`, value: copy } } });
  // An image without its content, one of no kind that is known, and a pin that says nothing.
  const whole = state.images.get(IMAGE);
  if (whole === undefined) throw new Error('no image');
  state.images.set('registry.test/broken:1', { ...whole, name: 'registry.test/broken:1', target: { mediaType: 'application/x-unknown', size: 3n, digest: `sha256:${newId()}`, annotations: {} } });
  state.images.set('not a name', { ...whole, name: 'not a name', labels: { 'io.cri-containerd.pinned': '?' } });
  // The CNI cache: of a pod that lives, of nobody, and no file.
  const results = join(shim.config.cni.cacheDir, 'results');
  await writeFile(join(results, `test-${cacheless}-eth0`), '{"kind":"cniCacheV9","cont');
  await written(join(results, `test-${newId()}-eth0`), 'nonsense');
  await mkdir(join(results, `test-${newId()}-eth1`));
  // FIFOs: a file in the place of a directory, a command of a daemon that is gone, lines that go on in no stream.
  await written(layout.containerIo(newId()), 'no directory');
  await written(join(layout.execIo(goodContainer, `00000000${'ab'.repeat(12)}`), 'stdout'), 'no FIFO');
  await written(join(layout.containerIo(goodContainer), 'unfinished-lines'), 'stdwhat\n\0');
  // What a daemon writes for the next one.
  await writeFile(join(shim.config.stateDir, 'lock'), 'not a pid at all');
  await writeFile(join(shim.config.stateDir, 'fifo-keeper.pid'), '1e400');
  await writeFile(join(shim.config.rootDir, 'containerd-uuid'), 'of a cat');
  await writeFile(join(shim.config.stateDir, 'cleaning.lock'), '\0\0');
  // What others make beside it.
  await written(join(layout.netnsDir, `criquet-${newId()}`), 'no namespace');
  await written(join(layout.lookup, 'rootfs-x'), 'no mount');
  await planter.client().leases.create({ id: 'criquet-pull-broken', labels: { 'containerd.io/gc.expire': 'soon' } });

  await shim.restart();
  t.same(await picture(), { ...before, images: (await picture()).images });
  t.ok((await picture()).images.some(({ repoTags }) => repoTags.includes(IMAGE)));
  const pods = (await shim.cri.runtime.listPodSandbox({})).items;
  for (const [id, wanted] of [[good, 0], [cacheless, 0], [newer, 1], [cut, 1], [stolen, 1]] as const) t.match(pods.find((pod) => pod.id === id), { state: wanted });
  t.ok(pods.some(({ id }) => id === twice), 'two of the same name are both shown');
  for (const id of [newer, newerContainer, cut, stolen, 'registry.test/broken:1']) t.ok(toldOf(shim, id) > 0, `${id} is told of`);
  t.equal((await shim.cri.image.imageStatus({ image: { image: 'registry.test/broken:1' } })).image, undefined, 'a new pull heals it');

  const { problems, holdings } = await audit(shim);
  t.same(problems, []);
  for (const id of [newer, newerContainer, cut, stolen, twice]) t.ok(named(holdings, 'owned').some((line) => line.includes(id)), `${id} is nobody's leftover`);
  await audit(shim, true, true);
  for (const [id, kept] of fromTheFuture) t.equal(document(shim, id).text, kept, 'a record of a newer criquet is as it was');
  t.ok(state.tasks.has(newerContainer), 'and what it is about runs');

  // A newer criquet again.
  await shim.stopServing();
  for (const [id, kept] of fromTheFuture) document(shim, id).extension.value = Buffer.from(kept.replace('"version":2,"later":true', '"version":1'));
  await shim.serve();
  t.match((await shim.connect().runtime.podSandboxStatus({ podSandboxId: newer })).status, { state: 0 });
  t.match((await shim.connect().runtime.containerStatus({ containerId: newerContainer })).status, { state: 1 });

  // All of them can be removed.
  const cri = shim.connect();
  for (const { id } of (await cri.runtime.listPodSandbox({})).items) {
    await cri.runtime.stopPodSandbox({ podSandboxId: id });
    await cri.runtime.removePodSandbox({ podSandboxId: id });
  }
  t.same((await cri.runtime.listPodSandbox({})).items, []);
  t.same((await cri.runtime.listContainers({})).containers, []);
  await writeFile(join(shim.config.rootDir, 'containerd-uuid'), '');
  await audit(shim, true);
  t.same(orphans(await audit(shim)), []);
});
