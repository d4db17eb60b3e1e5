import { mkdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { MountPropagation, type DeepPartial, type Mount } from '@criquet/cri-api';
import { decodeSpec } from '@criquet/runtime-containerd';
import { test, type Test } from 'tap';
import { mount } from '../../src/runtime/mount.js';
import { NAMESPACE, Shim } from './shim-harness.js';

/** `<sys/mount.h>` */
const [MS_PRIVATE, MS_SHARED] = [1 << 18, 1 << 20];

// What each field of CRI's Mount becomes in the runtime spec.

async function start(t: Test, recursive = true): Promise<{ shim: Shim; pod: string; hostPath: string }> {
  const shim = await Shim.start({ node: { nodeFacts: { mountSetattr: recursive } } });
  t.teardown(() => shim.close());
  const hostPath = join(await realpath(shim.dir), 'source');
  await mkdir(hostPath);
  return { shim, pod: await shim.runPod(), hostPath };
}

async function mounted(shim: Shim, pod: string, wanted: DeepPartial<Mount>) {
  const containerId = await shim.createContainer(pod, { mounts: [wanted] });
  const { mounts, linux } = decodeSpec(shim.containerd.state(NAMESPACE).containers.get(containerId)?.spec as never);
  return { mount: mounts?.find(({ destination }) => destination === '/m'), linux, containerId };
}

test('Mount.container_path, host_path and readonly', async (t) => {
  const { shim, pod, hostPath } = await start(t);
  const { mount: found, containerId } = await mounted(shim, pod, { hostPath, containerPath: '/m/', readonly: true });
  t.same(found, { destination: '/m', type: 'bind', source: hostPath, options: ['rbind', 'rprivate', 'ro'] });
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status?.mounts, [{ hostPath, containerPath: '/m/', readonly: true }]);
});

test('Mount.mount_options', async (t) => {
  const { shim, pod, hostPath } = await start(t);
  const { mount: found } = await mounted(shim, pod, { hostPath, containerPath: '/m', mountOptions: ['noexec', 'nodev', 'nosuid'] });
  t.same(found?.options, ['rbind', 'rprivate', 'rw', 'noexec', 'nodev', 'nosuid']);
  await t.rejects(shim.createContainer(pod, { metadata: { name: 'b' }, mounts: [{ hostPath, containerPath: '/m', mountOptions: ['exec'] }] }), {
    code: status.INVALID_ARGUMENT,
    details: /config\.mounts\[0\]\.mount_options: "exec"/,
  });
});

test('Mount.recursive_read_only', async (t) => {
  const { shim, pod, hostPath } = await start(t);
  const { mount: found } = await mounted(shim, pod, { hostPath, containerPath: '/m', readonly: true, recursiveReadOnly: true });
  t.same(found?.options, ['rbind', 'rprivate', 'rro']);
  const { PROPAGATION_HOST_TO_CONTAINER, PROPAGATION_BIDIRECTIONAL } = MountPropagation;
  const before = await shim.leftovers();
  for (const [what, change] of Object.entries({
    'needs readonly': { readonly: false },
    'needs private propagation': { propagation: PROPAGATION_HOST_TO_CONTAINER },
    'private propagation': { propagation: PROPAGATION_BIDIRECTIONAL },
  })) {
    const mounts = [{ hostPath, containerPath: '/m', readonly: true, recursiveReadOnly: true, ...change }];
    await t.rejects(shim.createContainer(pod, { metadata: { name: 'b' }, mounts }), { code: status.INVALID_ARGUMENT, details: new RegExp(`recursive_read_only: .*${what}`) });
  }
  t.same(await shim.leftovers(), before);
});

test('Mount.recursive_read_only where the node has it not: the message begins as CRI says', async (t) => {
  const { shim, pod, hostPath } = await start(t, false);
  const before = await shim.leftovers();
  await t.rejects(shim.createContainer(pod, { mounts: [{ hostPath, containerPath: '/m', readonly: true, recursiveReadOnly: true }] }), {
    code: status.FAILED_PRECONDITION,
    details: /^RROUnsupported: check the configuration: config\.mounts\[0\]\.recursive_read_only/,
  });
  t.same(await shim.leftovers(), before);
});

test('Mount.uidMappings and gidMappings', async (t) => {
  const { shim, pod, hostPath } = await start(t);
  const [uid, gid] = [{ hostId: 1000, containerId: 0, length: 10 }, { hostId: 2000, containerId: 5, length: 20 }];
  const { mount: found } = await mounted(shim, pod, { hostPath, containerPath: '/m', uidMappings: [uid], gidMappings: [gid] });
  t.match(found, { uidMappings: [{ hostID: 1000, containerID: 0, size: 10 }], gidMappings: [{ hostID: 2000, containerID: 5, size: 20 }] });
});

test('R4 Mount.propagation: each mode, and a clear error where the source takes no part', async (t) => {
  const { shim, pod, hostPath } = await start(t);
  mount('x', hostPath, 'tmpfs', 0, '');
  mount('', hostPath, '', MS_SHARED, '');
  const { PROPAGATION_PRIVATE, PROPAGATION_HOST_TO_CONTAINER, PROPAGATION_BIDIRECTIONAL } = MountPropagation;
  for (const [propagation, mode, root] of [
    [PROPAGATION_PRIVATE, 'rprivate', undefined],
    [PROPAGATION_HOST_TO_CONTAINER, 'rslave', 'rslave'],
    [PROPAGATION_BIDIRECTIONAL, 'rshared', 'rshared'],
  ] as const) {
    const found = await mounted(shim, pod, { hostPath, containerPath: '/m', propagation });
    t.same(found.mount?.options, ['rbind', mode, 'rw']);
    t.equal(found.linux?.rootfsPropagation, root);
    await shim.cri.runtime.removeContainer({ containerId: found.containerId });
  }
  mount('', hostPath, '', MS_PRIVATE, '');
  const before = await shim.leftovers();
  for (const propagation of [PROPAGATION_HOST_TO_CONTAINER, PROPAGATION_BIDIRECTIONAL]) {
    await t.rejects(shim.createContainer(pod, { mounts: [{ hostPath, containerPath: '/m', propagation }] }), {
      code: status.FAILED_PRECONDITION,
      details: /config\.mounts\[0\]\.propagation: .*is on the mount .*which is not shared/,
    });
  }
  t.same(await shim.leftovers(), before);
});

test('masked_paths and readonly_paths are those of the request, none where it is privileged', async (t) => {
  const { shim } = await start(t);
  await shim.cri.runtime.removePodSandbox({ podSandboxId: (await shim.cri.runtime.listPodSandbox({})).items[0]?.id ?? '' });
  const pod = await shim.runPod({ linux: { securityContext: { privileged: true } } });
  const paths = { maskedPaths: ['/proc/kcore', '/proc/keys'], readonlyPaths: ['/proc/sys'] };
  const linux = async (name: string, change: object) => {
    const containerId = await shim.createContainer(pod, { metadata: { name }, linux: { securityContext: { ...paths, ...change } } });
    return decodeSpec(shim.containerd.state(NAMESPACE).containers.get(containerId)?.spec as never).linux;
  };
  t.match(await linux('default', {}), paths);
  t.match(await linux('unmasked', { maskedPaths: [], readonlyPaths: [] }), { maskedPaths: [], readonlyPaths: [] });
  t.match(await linux('privileged', { privileged: true }), { maskedPaths: [], readonlyPaths: [] });
});

test('a missing source becomes a directory', async (t) => {
  const { shim, pod, hostPath } = await start(t);
  await mounted(shim, pod, { hostPath: join(hostPath, 'a/b'), containerPath: '/m' });
  t.ok((await stat(join(hostPath, 'a/b'))).isDirectory());
});
