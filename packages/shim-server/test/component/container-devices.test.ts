import { execFileSync } from 'node:child_process';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerConfig, DeepPartial } from '@criquet/cri-api';
import { decodeSpec, type RuntimeSpec } from '@criquet/runtime-containerd';
import { status } from '@grpc/grpc-js';
import { test, type Test } from 'tap';
import type { CriquetConfig } from '../../src/config/index.js';
import { NAMESPACE, Shim } from './shim-harness.js';

/** A shim whose CDI directories are the test's own and do not exist yet, and a way to get a container's spec. */
async function start(t: Test, change: (config: CriquetConfig, dir: string) => CriquetConfig = (config) => config, prepare?: Parameters<typeof Shim.start>[0]) {
  const dir = t.testdir();
  const cdiSpecDirs = [join(dir, 'etc-cdi'), join(dir, 'run-cdi')];
  const shim = await Shim.start({ change: (config) => change({ ...config, devices: { ...config.devices, cdiSpecDirs } }, dir), ...prepare });
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  let count = 0;
  const create = async (config: DeepPartial<ContainerConfig>): Promise<{ id: string; spec: RuntimeSpec }> => {
    const id = await shim.createContainer(pod, { metadata: { name: `c-${++count}`, attempt: 0 }, ...config });
    return { id, spec: decodeSpec(shim.containerd.state(NAMESPACE).containers.get(id)?.spec as never) };
  };
  const writeSpec = async (directory: 0 | 1, name: string, devices: object, more: object = {}) => {
    await mkdir(cdiSpecDirs[directory] ?? '', { recursive: true });
    const list = Object.entries(devices).map(([device, containerEdits]) => ({ name: device, containerEdits: containerEdits as object }));
    await writeFile(join(cdiSpecDirs[directory] ?? '', name), JSON.stringify({ cdiVersion: '1.1.0', kind: 'vendor.com/gpu', devices: list, ...more }));
  };
  return { shim, pod, dir, create, writeSpec, cdiSpecDirs };
}

test('X7 CDI: what a device edits is in the spec; a spec file that appears after the start counts', async (t) => {
  const { create, writeSpec, shim, dir } = await start(t);
  const asking = { CDIDevices: [{ name: 'vendor.com/gpu=0' }] };
  await t.rejects(create(asking), { code: status.FAILED_PRECONDITION, details: /config\.CDI_devices\[0\]\.name: no CDI device "vendor\.com\/gpu=0"/ });
  await writeSpec(1, 'gpu.json', {
    0: {
      env: ['GPU=0'],
      deviceNodes: [{ path: '/dev/gpu0', type: 'c', major: 195, minor: 0, permissions: 'rw' }],
      mounts: [{ hostPath: '/opt/driver', containerPath: '/driver', options: ['ro', 'rbind'] }],
      hooks: [{ hookName: 'createContainer', path: '/usr/bin/hook', args: ['hook'] }],
      additionalGids: [44],
      intelRdt: { closID: 'gpu' },
    },
  });
  const { id, spec } = await create({ ...asking, linux: { securityContext: { runAsUsername: 'app' } } });
  t.ok(spec.process?.env?.includes('GPU=0'));
  t.match(spec.linux?.devices, [{ path: '/dev/gpu0', type: 'c', major: 195, minor: 0, uid: 1000, gid: 1000 }]);
  t.match(spec.linux?.resources?.devices?.at(-1), { allow: true, type: 'c', major: 195, minor: 0, access: 'rw' });
  t.match(spec.mounts?.find(({ destination }) => destination === '/driver'), { source: '/opt/driver', options: ['ro', 'rbind'] });
  t.match(spec.hooks?.createContainer, [{ path: '/usr/bin/hook', args: ['hook'] }]);
  t.match(spec.linux?.intelRdt, { closID: 'gpu' });
  t.same(spec.process?.user.additionalGids, [44, 1000, 2000]);
  const { status: container } = await shim.cri.runtime.containerStatus({ containerId: id });
  t.same(container?.user?.linux?.supplementalGroups, [44n, 1000n, 2000n], 'the status says what the process has');
  await shim.restart();
  t.same((await shim.cri.runtime.containerStatus({ containerId: id })).status?.user?.linux?.supplementalGroups, [44n, 1000n, 2000n]);
  await rm(join(dir, 'run-cdi'), { recursive: true });
  await t.rejects(create(asking), { code: status.FAILED_PRECONDITION });
});

test('X7 CDI: one broken spec among good ones, and what cannot be had, leave nothing', async (t) => {
  const { create, writeSpec, shim, cdiSpecDirs } = await start(t);
  await writeSpec(0, 'good.json', { 0: { env: ['GPU=static'] }, 1: { deviceNodes: [{ path: '/dev/nonexistent' }] }, 2: { netDevices: [{ hostInterfaceName: 'gpu7', name: 'gpu0' }] } });
  await writeFile(join(cdiSpecDirs[0] ?? '', 'broken.yaml'), 'kind: [');
  const before = await shim.leftovers();
  const { spec } = await create({ CDIDevices: [{ name: 'vendor.com/gpu=0' }] });
  t.ok(spec.process?.env?.includes('GPU=static'));
  t.match(shim.logLines.join('\n'), /broken\.yaml/, 'a warning names the broken file');
  const made = await shim.leftovers();
  const refused = (name: string, code: status, details: RegExp) => t.rejects(create({ CDIDevices: [{ name }] }), { code, details });
  await refused('gpu0', status.INVALID_ARGUMENT, /CDI_devices\[0\]\.name: "gpu0"/);
  await refused('vendor.com/gpu=9', status.FAILED_PRECONDITION, /"vendor\.com\/gpu=9".*broken\.yaml/);
  await refused('vendor.com/gpu=1', status.FAILED_PRECONDITION, /\/dev\/nonexistent/);
  await refused('vendor.com/gpu=2', status.FAILED_PRECONDITION, /runc cannot move network interfaces/);
  t.same(await shim.leftovers(), made);
  t.ok(made.length > before.length);
  await writeSpec(1, 'late.json', { 0: { env: ['GPU=dynamic'] } });
  t.ok((await create({ CDIDevices: [{ name: 'vendor.com/gpu=0' }] })).spec.process?.env?.includes('GPU=dynamic'), 'the later directory goes before the earlier one');
});

test('CDI: by annotation, and network devices with a runtime that has them', async (t) => {
  const { create, writeSpec } = await start(t, undefined, {
    prepare: ({ ociRuntimes }) => void ociRuntimes.set('runc', { linux: { netDevices: { enabled: true } } }),
  });
  await writeSpec(0, 'gpu.json', { 0: { env: ['GPU=0'] }, 1: { netDevices: [{ hostInterfaceName: 'gpu7', name: 'gpu0' }] } });
  const { spec } = await create({ annotations: { 'cdi.k8s.io/plugin': 'vendor.com/gpu=0,vendor.com/gpu=1' } });
  t.ok(spec.process?.env?.includes('GPU=0'));
  t.same(spec.linux?.netDevices, { gpu7: { name: 'gpu0' } });
  await t.rejects(create({ annotations: { 'cdi.k8s.io/plugin': 'gpu0' } }), { code: status.INVALID_ARGUMENT, details: /annotations\["cdi\.k8s\.io\/plugin"\]/ });
});

test('devices: a node by link and a directory of them, where and how CRI says', async (t) => {
  const { create, dir } = await start(t);
  const nodes = join(dir, 'nodes');
  await mkdir(nodes);
  execFileSync('mknod', ['-m', '640', join(nodes, 'disk'), 'b', '259', '3']);
  execFileSync('mknod', [join(nodes, 'zero'), 'c', '1', '5']);
  await symlink(join(nodes, 'disk'), join(dir, 'by-name'));
  const { spec } = await create({
    devices: [
      { hostPath: join(dir, 'by-name'), containerPath: '/dev/xvda', permissions: 'r' },
      { hostPath: nodes, containerPath: '/dev/all', permissions: 'rw' },
    ],
    linux: { securityContext: { runAsUser: { value: 1000n }, runAsGroup: { value: 2000n } } },
  });
  const devices = new Map(spec.linux?.devices?.map((device) => [device.path, device]));
  t.same([...devices.keys()].sort(), ['/dev/all/disk', '/dev/all/zero', '/dev/xvda']);
  t.match(devices.get('/dev/xvda'), { type: 'b', major: 259, minor: 3, fileMode: 0o640, uid: 0, gid: 0 });
  t.match(spec.linux?.resources?.devices?.[1], { allow: true, type: 'b', major: 259, minor: 3, access: 'r' });
  t.match(spec.linux?.resources?.devices?.at(-1), { access: 'rw' });
});

test('devices belong to the user and group of the security context where the configuration says so', async (t) => {
  const { create } = await start(t, (config) => ({ ...config, devices: { ...config.devices, deviceOwnershipFromSecurityContext: true } }));
  const devices = [{ hostPath: '/dev/null', containerPath: '/dev/x', permissions: 'rw' }];
  const securityContext = { runAsUser: { value: 1000n }, runAsGroup: { value: 2000n } };
  t.match((await create({ devices, linux: { securityContext } })).spec.linux?.devices, [{ path: '/dev/x', uid: 1000, gid: 2000 }]);
  t.match((await create({ devices })).spec.linux?.devices, [{ path: '/dev/x', uid: 0, gid: 0 }]);
});
