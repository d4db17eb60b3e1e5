import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MountPropagation, NamespaceMode, type DeepPartial, type Mount } from '@criquet/cri-api';
import { eventually } from '../harness/eventually.js';
import { onEachEngine, runtimeUnderTest } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod, type TestContainer } from '../harness/pods.js';
import { run } from '../harness/run.js';

const SEVERAL_LAYERS = 'e2e.criquet.test/criquet-e2e/volumes:1';
const ONE_LAYER = 'e2e.criquet.test/criquet-e2e/single-layer:1';

await onEachEngine('mounts', async (t, node) => {
  const { image } = node.cri;
  const criquetOnly = { skip: runtimeUnderTest !== 'criquet' && 'of criquet alone' };
  for (const name of [BUSYBOX, SEVERAL_LAYERS, ONE_LAYER]) await image.pullImage({ image: { image: name } }, CALL);
  const before = await node.state();
  const pod = await TestPod.run(node, { linux: { cgroupParent: `/${node.cgroupParent}`, securityContext: { privileged: true } } });
  const privileged = { linux: { securityContext: { privileged: true } } };
  const volume = (name: string, change: DeepPartial<Mount> = {}): DeepPartial<Mount> => ({ containerPath: '/vol', readonly: true, image: { image: name }, ...change });
  const output = async (container: TestContainer, script: string): Promise<string> => {
    const { stdout, stderr } = await container.exec(['sh', '-c', script]);
    return (stdout + stderr).trim();
  };

  for (const name of [SEVERAL_LAYERS, ONE_LAYER]) {
    await t.test(`an image volume: ${name}`, async (t) => {
      const container = await pod.start({ mounts: [volume(name), volume(name, { containerPath: '/sub', imageSubPath: 'absolute' })] });
      t.equal(await output(container, 'cat /vol/data/seed /sub/link'), 'from the image\nfrom the image');
      t.equal(await output(container, '/vol/data/script'), 'it runs', 'not mounted noexec');
      t.match(await output(container, 'touch /vol/new /vol/data/new /sub/new'), /(.*Read-only file system\n?){3}/);
      const { image: found } = await image.imageStatus({ image: { image: name } }, CALL);
      t.match((await container.status()).mounts[0], { image: { image: name, imageRef: found?.id ?? '' } });

      await image.removeImage({ image: { image: name } }, CALL);
      t.equal((await image.imageStatus({ image: { image: name } }, CALL)).image, undefined);
      t.equal(await output(container, 'cat /vol/data/seed'), 'from the image', 'its layers stay while it is mounted');
      await container.remove();
      await image.pullImage({ image: { image: name } }, CALL);
    });
  }

  await t.test('an image volume with a sub-path that is not there, is a file, or leads to the node', async (t) => {
    for (const imageSubPath of ['not-existing', 'data/seed', 'to-the-node/etc', 'leads-out/passwd/x']) {
      await t.rejects(pod.create({ mounts: [volume(ONE_LAYER, { imageSubPath })] }), { name: 'CriCallError', details: /^ImageVolumeMountFailed: / }, imageSubPath);
    }
    await t.rejects(pod.create({ mounts: [volume(ONE_LAYER, { readonly: false })] }), { name: 'CriCallError', details: /^ImageVolumeMountFailed: / });
  });

  await t.test('an image volume outlives SIGKILL of the daemon, and is removed by the next', criquetOnly, async (t) => {
    const container = await pod.start({ mounts: [volume(SEVERAL_LAYERS)] });
    await node.criquet?.stop('SIGKILL');
    await node.criquet?.start();
    await eventually(() => node.expectReady(), 20_000);
    t.equal(await output(container, 'cat /vol/data/seed'), 'from the image');
    await container.remove();
    t.same((await node.state()).mounts.filter((path) => path.includes(container.id)), []);
  });

  await t.test('Mount.mount_options: noexec, nodev, nosuid, on a directory and on an image', criquetOnly, async (t) => {
    const hostPath = join(node.directory, 'options');
    await mkdir(hostPath);
    await writeFile(join(hostPath, 'script'), '#!/bin/sh\necho it runs\n', { mode: 0o755 });
    await run('mknod', [join(hostPath, 'null'), 'c', '1', '3']);
    const mountOptions = ['noexec', 'nodev', 'nosuid'];
    const container = await pod.start({
      ...privileged,
      mounts: [
        { hostPath, containerPath: '/with', mountOptions },
        { hostPath, containerPath: '/without' },
        volume(SEVERAL_LAYERS, { mountOptions: ['noexec'] }),
      ],
    });
    t.match(await output(container, '/with/script'), /Permission denied/);
    t.match(await output(container, 'echo x > /with/null'), /Permission denied/);
    t.equal(await output(container, '/without/script; echo x > /without/null'), 'it runs');
    t.match(await output(container, '/vol/data/script'), /Permission denied/);
    const options = new Map((await output(container, 'cat /proc/self/mountinfo')).split('\n').map((line) => [line.split(' ')[4], line.split(' ')[5]?.split(',') ?? []]));
    t.same(mountOptions.filter((option) => options.get('/with')?.includes(option) !== true), []);
    t.same(mountOptions.filter((option) => options.get('/without')?.includes(option)), []);
    await container.remove();
  });

  await t.test('Mount.recursive_read_only: what is mounted below is read-only too', async (t) => {
    const hostPath = join(node.directory, 'recursive');
    await mkdir(join(hostPath, 'below'), { recursive: true });
    await run('mount', ['-t', 'tmpfs', 'tmpfs', join(hostPath, 'below')]);
    try {
      const container = await pod.start({
        mounts: [
          { hostPath, containerPath: '/all', readonly: true, recursiveReadOnly: true },
          { hostPath, containerPath: '/top', readonly: true },
        ],
      });
      t.match(await output(container, 'touch /all/x'), /Read-only/);
      t.match(await output(container, 'touch /all/below/x'), /Read-only/);
      t.match(await output(container, 'touch /top/x'), /Read-only/);
      t.equal(await output(container, 'touch /top/below/x'), '');
      await container.remove();
    } finally {
      await run('umount', [join(hostPath, 'below')]);
    }
  });

  await t.test('R4 propagation: as the mode says, and a clear error for a source that takes no part', async (t) => {
    const hostPath = join(node.directory, 'propagation');
    await mkdir(hostPath);
    await run('mount', ['-t', 'tmpfs', 'tmpfs', hostPath]);
    await run('mount', ['--make-rshared', hostPath]);
    const { PROPAGATION_PRIVATE, PROPAGATION_HOST_TO_CONTAINER, PROPAGATION_BIDIRECTIONAL } = MountPropagation;
    try {
      for (const [propagation, intoContainer, outOfContainer] of [
        [PROPAGATION_PRIVATE, false, false],
        [PROPAGATION_HOST_TO_CONTAINER, true, false],
        [PROPAGATION_BIDIRECTIONAL, true, true],
      ] as const) {
        for (const name of ['host', 'container']) await mkdir(join(hostPath, name), { recursive: true });
        const container = await pod.start({ ...privileged, mounts: [{ hostPath, containerPath: '/m', propagation }] });
        await run('mount', ['-t', 'tmpfs', 'tmpfs', join(hostPath, 'host')]);
        await writeFile(join(hostPath, 'host/file'), '');
        t.equal((await output(container, 'ls /m/host')) === 'file', intoContainer, `${propagation}: into the container`);
        t.equal(await output(container, 'mount -t tmpfs tmpfs /m/container && touch /m/container/file'), '');
        const seen = await readFile(join(hostPath, 'container/file')).then(
          () => true,
          () => false,
        );
        t.equal(seen, outOfContainer, `${propagation}: out of the container`);
        await output(container, 'umount /m/container');
        await container.remove();
        await run('umount', [join(hostPath, 'host')]);
      }
      await run('mount', ['--make-rprivate', hostPath]);
      for (const propagation of [PROPAGATION_HOST_TO_CONTAINER, PROPAGATION_BIDIRECTIONAL]) {
        await t.rejects(pod.create({ mounts: [{ hostPath, containerPath: '/m', propagation }] }), { name: 'CriCallError', details: /is(?:, which is)? not (?:a )?shared/ });
      }
    } finally {
      await run('umount', ['--recursive', hostPath]);
    }
  });

  await t.test('I7 volumes of the image, with a root that cannot be written to', async (t) => {
    const container = await pod.start({ image: { image: SEVERAL_LAYERS }, linux: { securityContext: { readonlyRootfs: true } } });
    t.equal(await output(container, 'cat /data/seed /data/link'), 'from the image\nfrom the image');
    t.equal(await output(container, 'stat -c %a /data/seed /data/script /data/shared'), '640\n4755\n1777');
    t.equal(await output(container, 'echo changed > /data/seed && cat /data/seed'), 'changed');
    t.equal(await output(container, 'ls /not/in/the/image; touch /not/in/the/image/x'), '');
    t.equal(await output(container, 'cat /leads-out/criquet/inside'), 'of the image', 'a link leads into the image');
    t.match(await output(container, 'touch /x'), /Read-only/);
    const again = await pod.start({ image: { image: SEVERAL_LAYERS } });
    t.equal(await output(again, 'cat /data/seed'), 'from the image', 'each container has its own');
    await container.remove();
    await again.remove();
  });

  await t.test('image volumes and volumes of the image in a user namespace', criquetOnly, async (t) => {
    const ids = (hostId: number) => [{ containerId: 0, hostId, length: 65_536 }];
    const namespaceOptions = { pid: NamespaceMode.CONTAINER, usernsOptions: { mode: NamespaceMode.POD, uids: ids(200_000), gids: ids(300_000) } };
    const linux = { securityContext: { namespaceOptions } };
    const mapped = await TestPod.run(node, { linux: { cgroupParent: `/${node.cgroupParent}`, ...linux } });
    const mappings = { uidMappings: ids(200_000), gidMappings: ids(300_000) };
    for (const name of [SEVERAL_LAYERS, ONE_LAYER]) {
      const container = await mapped.start({ linux, mounts: [volume(name, mappings), volume(name, { ...mappings, containerPath: '/sub', imageSubPath: 'absolute' })] });
      t.equal(await output(container, 'stat -c "%u %g %a" /vol/data/seed /sub/seed'), '0 0 640\n0 0 640', name);
      t.equal(await output(container, 'cat /vol/data/seed'), 'from the image');
      t.match(await output(container, 'touch /vol/data/new'), /Read-only file system/);
      await container.remove();
    }
    const container = await mapped.start({ linux, image: { image: SEVERAL_LAYERS } });
    t.equal(await output(container, 'stat -c "%u %g %a" /data/seed'), '0 0 640');
    t.equal(await output(container, 'echo changed > /data/seed && cat /data/seed'), 'changed');
    await mapped.remove();
  });

  await pod.remove();
  t.same(await node.leaksSince(before), []);
});
