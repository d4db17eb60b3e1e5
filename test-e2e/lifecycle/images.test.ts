import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { onEachEngine, runtimeUnderTest } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';

const REPOSITORY = 'gcr.io/k8s-staging-cri-tools/test-image-tags';
/** The same images under another registry's name. */
const OTHER_REPOSITORY = 'registry.k8s.io/k8s-staging-cri-tools/test-image-tags';
const IMAGE_ID = /^sha256:[0-9a-f]{64}$/;

await onEachEngine('images', async (t, node) => {
  const { image: images, runtime } = node.cri;
  const pull = async (image: string) => (await images.pullImage({ image: { image } }, CALL)).imageRef;
  const status = async (image: string) => (await images.imageStatus({ image: { image } }, CALL)).image;
  const list = async () => (await images.listImages({}, CALL)).images;

  await t.test('a pull names the image by its id everywhere', async (t) => {
    const ref = await pull(`${REPOSITORY}:1`);
    t.match(ref, IMAGE_ID, "the configuration's digest");
    const found = await status(`${REPOSITORY}:1`);
    t.equal(found?.id, ref);
    t.strictSame(found?.repoTags, [`${REPOSITORY}:1`]);
    t.equal(found?.repoDigests.length, 1);
    t.match(found?.repoDigests[0], new RegExp(`^${REPOSITORY}@sha256:[0-9a-f]{64}$`));
    t.ok((found?.size ?? 0n) > 100_000n, `${found?.size} bytes`);
    t.strictSame((await list()).map(({ id }) => id).filter((id) => id === ref), [ref]);
  });

  await t.test('by digest: the same image, found by tag, digest, id and a short id', async (t) => {
    const byTag = await status(`${REPOSITORY}:1`);
    const digest = byTag?.repoDigests[0] ?? '';
    t.equal(await pull(digest), byTag?.id);
    t.equal((await status(digest))?.id, byTag?.id);
    t.equal((await status(byTag?.id ?? ''))?.id, byTag?.id);
    t.equal((await status((byTag?.id ?? '').slice('sha256:'.length)))?.id, byTag?.id);
    t.equal((await status(`${REPOSITORY}:1@${digest.split('@')[1] ?? ''}`))?.id, byTag?.id, 'name:tag@digest');
  });

  await t.test('I3: one image under three references in two repositories: removing it by any takes all', async (t) => {
    const references = [`${REPOSITORY}:1`, `${REPOSITORY}:2`, `${OTHER_REPOSITORY}:3`];
    for (const form of ['tag', 'digest', 'id', 'short id']) {
      for (const reference of references) await pull(reference);
      const found = await status(references[1] ?? '');
      t.strictSame([...(found?.repoTags ?? [])].sort(), [...references].sort());
      const digests = (found?.repoDigests ?? []).map((digest) => digest.split('@')[0]);
      t.strictSame(digests.sort(), [REPOSITORY, OTHER_REPOSITORY].sort(), 'one digest a repository');
      const id = found?.id ?? '';
      const forms: Readonly<Record<string, string>> = {
        tag: references[1] ?? '',
        digest: found?.repoDigests[0] ?? '',
        id,
        'short id': id.slice('sha256:'.length, 'sha256:'.length + 13),
      };
      const image = { image: forms[form] ?? '' };
      await images.removeImage({ image }, CALL);
      for (const name of [...references, id, ...Object.values(forms)]) t.equal(await status(name), undefined, `by ${form}: ${name} is gone`);
      t.notOk((await list()).some((listed) => listed.id === id));
      await images.removeImage({ image }, CALL);
    }
  });

  await t.test("I4: an image that another client made is listed, and gone when that client removes it", async (t) => {
    const name = 'e2e.criquet.test/retagged:1';
    await pull(`${REPOSITORY}:1`);
    await node.containerd.ctr('--namespace', 'k8s.io', 'images', 'tag', `${REPOSITORY}:1`, name);
    await waitFor(async () => (await status(name))?.repoTags.includes(name) === true);
    t.ok((await status(name))?.repoTags.includes(name));
    await node.containerd.ctr('--namespace', 'k8s.io', 'images', 'remove', name);
    await waitFor(async () => (await status(`${REPOSITORY}:1`))?.repoTags.includes(name) === false);
    t.notOk((await status(`${REPOSITORY}:1`))?.repoTags.includes(name));
    await images.removeImage({ image: { image: `${REPOSITORY}:1` } }, CALL);
  });

  await t.test("images that kind's commands import run: loaded ones, and those that a node image is built with", async (t) => {
    const name = 'e2e.criquet.test/imported:1';
    const archive = join(node.directory, 'imported.tar');
    const ctr = (...args: string[]): Promise<string> => node.containerd.ctr('--namespace', 'k8s.io', 'images', ...args);
    const forget = async (reference: string): Promise<void> => {
      await images.removeImage({ image: { image: reference } }, CALL);
      await waitFor(async () => (await status(reference)) === undefined);
    };
    await pull(BUSYBOX);
    await ctr('tag', BUSYBOX, name);
    await ctr('export', '--local', archive, name);
    await forget(BUSYBOX);
    // `kind load` unpacks; `kind build node-image` pins and does not.
    for (const options of [['--snapshotter=overlayfs'], ['--no-unpack', '--label=io.cri-containerd.pinned=pinned']]) {
      await ctr('import', '--all-platforms', '--digests', ...options, archive);
      await waitFor(async () => (await status(name)) !== undefined);
      t.equal((await status(name))?.pinned, options.length === 2, options.join(' '));
      const pod = await TestPod.run(node);
      t.match(await (await pod.start({ image: { image: name } })).exec(['echo', 'alive']), { stdout: 'alive\n' });
      await pod.remove();
      await forget(name);
    }
    await rm(archive);
  });

  await t.test('users of images', async (t) => {
    const at = 'gcr.io/k8s-staging-cri-tools/test-image-user';
    await pull(`${at}-uid`);
    t.match(await status(`${at}-uid`), { uid: { value: 1002n }, username: '', repoTags: [`${at}-uid:latest`] });
    await pull(`${at}-username-group`);
    t.match(await status(`${at}-username-group`), { username: 'www-data' });
    await images.removeImage({ image: { image: `${at}-uid` } }, CALL);
    await images.removeImage({ image: { image: `${at}-username-group` } }, CALL);
  });

  await t.test('ImageFsInfo', async (t) => {
    const { imageFilesystems } = await images.imageFsInfo({}, CALL);
    t.equal(imageFilesystems.length, 1);
    t.ok(imageFilesystems[0]?.fsId?.mountpoint.startsWith(node.containerd.paths.root), imageFilesystems[0]?.fsId?.mountpoint ?? '');
  });

  await t.test('I3: an image in use can be removed; its container goes on', { skip: runtimeUnderTest !== 'criquet' && 'about criquet itself' }, async (t) => {
    const pod = await TestPod.run(node);
    const container = await pod.start({ image: { image: `${REPOSITORY}:1` } });
    await images.removeImage({ image: { image: `${REPOSITORY}:1` } }, CALL);
    t.match(await container.exec(['echo', 'still here']), { stdout: 'still here\n' });
    t.match(await container.status(), { image: { image: `${REPOSITORY}:1` } });
    await container.stop();
    await pod.remove();
    t.strictSame((await runtime.listPodSandbox({}, CALL)).items, []);
  });
});

/** Image events reach the runtime's list a moment later. */
async function waitFor(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 5_000;
  while (!(await holds()) && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50));
}
