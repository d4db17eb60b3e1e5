import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { NamespaceMode, type ContainerConfig, type DeepPartial, type NamespaceOption, type PodSandboxConfig, type UserNamespace } from '@criquet/cri-api';
import { decodeRuncOptions, decodeSpec } from '@criquet/runtime-containerd';
import { test } from 'tap';
import { mountOf, readMountInfo } from '../../src/spec/index.js';
import { NAMESPACE, Shim } from './shim-harness.js';

const { FAILED_PRECONDITION, INVALID_ARGUMENT } = status;

/** A node whose kernel has it all; the fake's runc has. */
const NODE = { nodeFacts: { mountSetattr: true, userNamespaces: true } };

const mapping = (hostId: number, length: number, containerId = 0) => ({ containerId, hostId, length });
const userns = (change: DeepPartial<UserNamespace> = {}): DeepPartial<UserNamespace> => ({
  mode: NamespaceMode.POD,
  uids: [mapping(200_000, 65_536)],
  gids: [mapping(300_000, 65_535)],
  ...change,
});
const options = (usernsOptions: DeepPartial<UserNamespace> | undefined, more: DeepPartial<NamespaceOption> = {}) => ({
  linux: { securityContext: { namespaceOptions: { ...more, ...(usernsOptions === undefined ? {} : { usernsOptions }) } } },
});
const POD: DeepPartial<PodSandboxConfig> = options(userns());
const CONTAINER: DeepPartial<ContainerConfig> = options(userns());

const start = (more: Parameters<typeof Shim.start>[0] = {}) => Shim.start({ node: NODE, ...more });
const spec = (shim: Shim, id: string) => decodeSpec(shim.containerd.state(NAMESPACE).containers.get(id)?.spec as never);
const snapshot = (shim: Shim, id: string) => shim.containerd.state(NAMESPACE).snapshotsOf('overlayfs').get(id);
const task = (shim: Shim, id: string) => shim.containerd.state(NAMESPACE).tasks.get(id);
const runcOptions = (shim: Shim, id: string) => decodeRuncOptions(task(shim, id)?.request.options as never);

const UIDS = [{ containerID: 0, hostID: 200_000, size: 65_536 }];
const GIDS = [{ containerID: 0, hostID: 300_000, size: 65_535 }];

test('userns_options mode POD, uids and gids: the pod sandbox', async (t) => {
  const shim = await start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod(POD);
  const path = join(shim.config.stateDir, 'userns', pod);
  t.same([...shim.netns.userns.values()], [{ path, uids: [mapping(200_000, 65_536)], gids: [mapping(300_000, 65_535)] }]);
  const { linux, mounts } = spec(shim, pod);
  t.same(linux?.uidMappings, UIDS);
  t.same(linux?.gidMappings, GIDS);
  t.same(linux?.namespaces?.find(({ type }) => type === 'user'), { type: 'user', path }, 'the one that owns its network namespace');
  t.equal(linux?.sysctl?.['net.ipv4.ping_group_range'], '0 65534', 'the kernel takes mapped groups only');
  t.match(mounts?.find(({ destination }) => destination === '/sys'), { type: 'sysfs' });

  for (const file of ['hosts', 'hostname', 'resolv.conf']) {
    const { uid, gid } = await stat(join(shim.config.rootDir, 'sandboxes', pod, file));
    t.same([uid, gid], [200_000, 300_000], file);
  }
  const shm = join(shim.config.stateDir, 'sandboxes', pod, 'shm');
  const { uid, gid } = await stat(shm);
  t.same([uid, gid], [200_000, 300_000]);
  t.ok(mountOf(shm, await readMountInfo())?.superOptions.includes('uid=200000'));
  const { status: shown } = await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod });
  t.match(shown?.linux?.namespaces?.options?.usernsOptions, userns());

  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  t.same([...shim.netns.pins.keys()], [], 'both pins are released');
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('userns_options mode POD, uids and gids: a container', async (t) => {
  const shim = await start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod(POD);
  const id = await shim.startContainer(pod, { linux: { securityContext: { namespaceOptions: { usernsOptions: userns() }, runAsUser: { value: 1000n } } } });
  const { linux } = spec(shim, id);
  t.same(linux?.uidMappings, UIDS);
  t.same(linux?.gidMappings, GIDS);
  t.same(linux?.namespaces?.find(({ type }) => type === 'user'), { type: 'user', path: `/proc/${task(shim, pod)?.init.pid}/ns/user` }, 'of the pause process');
  t.same(snapshot(shim, id)?.info.labels, {
    'criquet.owner': id,
    'containerd.io/snapshot/uidmapping': '0:200000:65536',
    'containerd.io/snapshot/gidmapping': '0:300000:65535',
  });
  t.match(runcOptions(shim, id), { ioUid: 201_000, ioGid: 301_000 }, 'its pipes are its user’s');
  const { ioUid, ioGid, ...options } = runcOptions(shim, id);
  t.same([ioUid, ioGid], [201_000, 301_000]);
  t.match(runcOptions(shim, pod), options, 'all other options stay');
});

for (const [what, of] of [['mode NODE', userns({ mode: NamespaceMode.NODE, uids: [], gids: [] })], ['nothing', undefined]] as const) {
  test(`userns_options ${what}: the node's own user namespace`, async (t) => {
    const shim = await start();
    t.teardown(() => shim.close());
    const pod = await shim.runPod(options(of));
    const id = await shim.startContainer(pod, options(of));
    for (const { linux } of [spec(shim, pod), spec(shim, id)]) {
      t.notOk(linux?.namespaces?.some(({ type }) => type === 'user'));
      t.equal(linux?.uidMappings, undefined);
      t.equal(linux?.gidMappings, undefined);
    }
    t.same(snapshot(shim, id)?.info.labels, { 'criquet.owner': id });
    t.match(runcOptions(shim, id), { ioUid: 0, ioGid: 0 });
    t.equal(shim.netns.userns.size, 0);
    t.equal((await stat(join(shim.config.rootDir, 'sandboxes', pod, 'hosts'))).uid, 0);
    t.equal(spec(shim, pod).linux?.sysctl?.['net.ipv4.ping_group_range'], '0 2147483647');
  });
}

test("with the node's network the runtime makes the user namespace, and /sys is the node's, read-only", async (t) => {
  const shim = await start();
  t.teardown(() => shim.close());
  const host = options(userns(), { network: NamespaceMode.NODE });
  const pod = await shim.runPod(host);
  const id = await shim.startContainer(pod, host);
  t.same([...shim.netns.pins.keys()], []);
  t.same(spec(shim, pod).linux?.namespaces?.find(({ type }) => type === 'user'), { type: 'user' });
  t.same(spec(shim, id).linux?.namespaces?.find(({ type }) => type === 'user'), { type: 'user', path: `/proc/${task(shim, pod)?.init.pid}/ns/user` });
  for (const { mounts } of [spec(shim, pod), spec(shim, id)]) {
    const sys = mounts?.find(({ destination }) => destination === '/sys');
    t.same(sys, { destination: '/sys', type: 'bind', source: '/sys', options: ['rbind', 'rro', 'nosuid', 'noexec', 'nodev'] });
  }
  t.equal((await shim.cri.runtime.status({})).features?.userNamespacesHostNetwork, true);
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('a sandbox_image has the ids of the pod, too', async (t) => {
  const shim = await start({ change: (config) => ({ ...config, sandboxImage: 'registry.test/app:1' }) });
  t.teardown(() => shim.close());
  const pod = await shim.runPod(POD);
  t.equal(snapshot(shim, pod)?.info.labels['containerd.io/snapshot/uidmapping'], '0:200000:65536');
});

test('a range without the tty group: the terminals keep the group of their process', async (t) => {
  const shim = await start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod(options(userns({ gids: [mapping(7, 5)] })));
  const pts = spec(shim, pod).mounts?.find(({ destination }) => destination === '/dev/pts');
  t.notOk(pts?.options?.some((option) => option.startsWith('gid=')), (pts?.options ?? []).join());
});

test('mounts[].uidMappings and gidMappings', async (t) => {
  const shim = await start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod(POD);
  const mount = (change: object) => ({ ...CONTAINER, mounts: [{ hostPath: shim.dir, containerPath: '/v', uidMappings: [mapping(10, 2)], gidMappings: [mapping(20, 3, 1), mapping(40, 4, 4)], ...change }] });
  const id = await shim.createContainer(pod, mount({}));
  t.match(spec(shim, id).mounts?.find(({ destination }) => destination === '/v'), {
    uidMappings: [{ containerID: 0, hostID: 10, size: 2 }],
    gidMappings: [{ containerID: 1, hostID: 20, size: 3 }, { containerID: 4, hostID: 40, size: 4 }],
  });
  const other = { metadata: { name: 'other', attempt: 0 } };
  const refused = (change: object) => shim.createContainer(pod, { ...mount(change), ...other });
  await t.rejects(refused({ gidMappings: [] }), { code: INVALID_ARGUMENT, details: /mounts\[0\]\.gidMappings: / });
  await t.rejects(refused({ uidMappings: [] }), { code: INVALID_ARGUMENT, details: /mounts\[0\]\.uidMappings: / });
  await t.rejects(refused({ uidMappings: [mapping(10, 0)] }), { code: INVALID_ARGUMENT, details: /mounts\[0\]\.uidMappings\[0\]\.length/ });
  const wrong: [name: 'uidMappings' | 'gidMappings', mappings: object[], says: RegExp][] = [
    ['uidMappings', [mapping(10, 5), mapping(100, 5, 4)], /uidMappings\[1\]\.container_id: .*overlap.*\[0\]/],
    ['gidMappings', [mapping(10, 5), mapping(12, 1, 7)], /gidMappings\[1\]\.host_id: .*overlap.*\[0\]/],
    ['uidMappings', [mapping(0xffff_fff0, 16)], /uidMappings\[0\]\.host_id: .*4294967294/],
    ['gidMappings', [mapping(10, 1), mapping(20, 2, 0xffff_fffe)], /gidMappings\[1\]\.container_id: .*4294967294/],
  ];
  for (const [name, mappings, says] of wrong) await t.rejects(refused({ [name]: mappings }), { code: INVALID_ARGUMENT, details: says });
  const many = Array.from({ length: 341 }, (_, index) => mapping(1000 + index, 1, index));
  await t.rejects(refused({ uidMappings: many }), { code: INVALID_ARGUMENT, details: /uidMappings: has 341 .* 340/ });
  t.match(await refused({ uidMappings: [], gidMappings: [] }), /./);
  const bordering = [mapping(15, 5, 5), mapping(10, 5), mapping(0xffff_ff00, 255, 0xffff_ff00)];
  t.match(await shim.createContainer(pod, { ...mount({ uidMappings: bordering }), metadata: { name: 'bordering', attempt: 0 } }), /./);
});

test("an image volume's id mappings are those of the pod's user namespace", async (t) => {
  const shim = await start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod(POD);
  const volume = (change: object) => ({ ...CONTAINER, mounts: [{ containerPath: '/v', readonly: true, image: { image: 'registry.test/app:1' }, ...change }] });
  const [uids, gids] = [[mapping(200_000, 65_536)], [mapping(300_000, 65_535)]];
  const other = { code: INVALID_ARGUMENT, details: /^ImageVolumeMountFailed: .*mounts\[0\]\.gidMappings: / };
  await t.rejects(shim.createContainer(pod, volume({ uidMappings: uids, gidMappings: uids })), other);
  await t.rejects(shim.createContainer(pod, volume({ uidMappings: uids, gidMappings: [...gids, mapping(7, 1, 70_000)] })), other);
  // There is no such namespace on the node of a test, so nothing can be mounted with it; nothing is wrong with the configuration.
  await t.rejects(shim.createContainer(pod, volume({ uidMappings: uids, gidMappings: gids })), { code: status.INTERNAL, details: /mount the image volumes: .*\/ns\/user/ });
});

const FIELD = 'config.linux.security_context.namespace_options';
const invalid: readonly (readonly [what: string, change: DeepPartial<PodSandboxConfig>, says: string])[] = [
  ['mode CONTAINER', options({ mode: NamespaceMode.CONTAINER }), `${FIELD}.userns_options.mode: CONTAINER`],
  ['mode TARGET', options({ mode: NamespaceMode.TARGET }), `${FIELD}.userns_options.mode: TARGET`],
  ['mode NODE with mappings', options(userns({ mode: NamespaceMode.NODE })), `${FIELD}.userns_options: mappings need mode POD`],
  ['mode POD without uids', options(userns({ uids: [] })), `${FIELD}.userns_options.uids: is missing`],
  ['mode POD without gids', options(userns({ gids: [] })), `${FIELD}.userns_options.gids: is missing`],
  ['two mappings', options(userns({ uids: [mapping(1, 1), mapping(5, 1, 1)] })), `${FIELD}.userns_options.uids: has 2 mappings`],
  ['two group mappings', options(userns({ gids: [mapping(1, 1), mapping(5, 1, 1)] })), `${FIELD}.userns_options.gids: has 2 mappings`],
  ['root not mapped', options(userns({ uids: [mapping(1000, 10, 1)] })), `${FIELD}.userns_options.uids[0].container_id: is 1`],
  ['length 0', options(userns({ gids: [mapping(1000, 0)] })), `${FIELD}.userns_options.gids[0].length: is 0`],
  ['ids that do not exist', options(userns({ uids: [mapping(4_294_967_000, 65_536)] })), `${FIELD}.userns_options.uids[0]: ends at 4295032535`],
  ["the node's PID namespace", options(userns(), { pid: NamespaceMode.NODE }), `${FIELD}.pid: NODE`],
  ["the node's IPC namespace", options(userns(), { ipc: NamespaceMode.NODE }), `${FIELD}.ipc: NODE`],
  ['a user that is not mapped', { linux: { securityContext: { ...POD.linux?.securityContext, runAsUser: { value: 65_536n } } } }, 'config.linux.security_context: user id 65536'],
];

for (const [what, change, says] of invalid) {
  test(`RunPodSandbox with ${what} is refused`, async (t) => {
    const shim = await start();
    t.teardown(() => shim.close());
    const error = (await shim.runPod(change).catch((reason: unknown) => reason)) as { code: status; details: string };
    t.equal(error.code, INVALID_ARGUMENT, error.details);
    t.ok(error.details.includes(says), error.details);
    t.same(await shim.leftovers(), []);
    t.same((await shim.cri.runtime.listPodSandbox({})).items, []);
  });
}

test("CreateContainer refuses another user namespace than the pod's, and ids that are not in it", async (t) => {
  const shim = await start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod(POD);
  const plain = await shim.runPod({ metadata: { name: 'plain', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
  const before = await shim.leftovers();
  const refused = async (of: string, change: DeepPartial<ContainerConfig>, details: RegExp) => {
    await t.rejects(shim.createContainer(of, change), { code: INVALID_ARGUMENT, details });
    t.same(await shim.leftovers(), before);
  };
  await refused(pod, {}, /userns_options: the node's user namespace, while the pod sandbox has one of 65536 user ids from 200000/);
  await refused(pod, options(userns({ mode: NamespaceMode.NODE, uids: [], gids: [] })), /userns_options: the node's/);
  await refused(pod, options(userns({ uids: [mapping(200_001, 65_536)] })), /userns_options: one of 65536 user ids from 200001/);
  await refused(pod, options(userns({ gids: [mapping(300_000, 9)] })), /userns_options: .* 9 group ids from 300000/);
  await refused(pod, options({ mode: NamespaceMode.TARGET }), /userns_options\.mode: TARGET/);
  await refused(plain, CONTAINER, /userns_options: .*, while the pod sandbox has the node's user namespace/);
  const running = (securityContext: object): DeepPartial<ContainerConfig> => ({ linux: { securityContext: { ...CONTAINER.linux?.securityContext, ...securityContext } } });
  await refused(pod, running({ runAsUser: { value: 65_536n } }), /user id 65536 is not in the pod's user namespace, which has 0 to 65535/);
  await refused(pod, running({ runAsUser: { value: 1n }, runAsGroup: { value: 65_535n } }), /group id 65535 is not in/);
  await refused(pod, running({ supplementalGroups: [70_000n] }), /group id 70000 is not in/);
});

const without: readonly (readonly [what: string, prepare: Parameters<typeof Shim.start>[0], says: RegExp])[] = [
  ['a kernel without them', { node: { nodeFacts: { mountSetattr: true, userNamespaces: false } } }, /userns_options: .*no user namespaces/],
  ['a kernel without idmapped mounts', { node: { nodeFacts: { mountSetattr: false, userNamespaces: true } } }, /userns_options: .*cannot make mounts with ids mapped/],
  [
    'a snapshotter that cannot map ids',
    { prepare: (containerd) => void (containerd.plugins = containerd.plugins.map((plugin) => (plugin.id === 'overlayfs' ? { ...plugin, capabilities: ['only-remap-ids'] } : plugin))) },
    /userns_options: .*snapshotter overlayfs cannot map ids/,
  ],
];

for (const [what, change, says] of without) {
  test(`${what}: Status says so, and a pod that asks is refused`, async (t) => {
    const shim = await start(change);
    t.teardown(() => shim.close());
    t.equal((await shim.cri.runtime.status({})).runtimeHandlers[0]?.features?.userNamespaces, false);
    await t.rejects(shim.runPod(POD), { code: FAILED_PRECONDITION, details: says });
    t.same(await shim.leftovers(), []);
    t.match(await shim.runPod(options(userns({ mode: NamespaceMode.NODE, uids: [], gids: [] }))), /./, 'others run');
  });
}

test('a runtime that cannot map the ids of mounts refuses them', async (t) => {
  const shim = await start({ node: { nodeFacts: { mountSetattr: false } } });
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const mounts = [{ hostPath: shim.dir, containerPath: '/v', uidMappings: [mapping(10, 2)], gidMappings: [mapping(10, 2)] }];
  await t.rejects(shim.createContainer(pod, { mounts }), { code: FAILED_PRECONDITION, details: /mounts\[0\]\.uidMappings: the runtime handler cannot/ });
});

for (const step of ['write the record', 'write the pod files', 'pin the network namespace', 'attach to the pod network', 'create the pause process', 'record that it is ready'] as const) {
  test(`RunPodSandbox with a user namespace fails at "${step}": nothing is left`, async (t) => {
    const shim = await start();
    t.teardown(() => shim.close());
    shim.failpoints.fail(`RunPodSandbox/${step}`);
    await t.rejects(shim.runPod(POD), { code: status.INTERNAL, details: `${step}: failpoint` });
    t.same(await shim.leftovers(), []);
    shim.failpoints.clear();
    t.match(await shim.runPod(POD), /./);
  });

  test(`killed in RunPodSandbox with a user namespace at "${step}": the next daemon clears it away`, async (t) => {
    const shim = await start();
    t.teardown(() => shim.close());
    await shim.failpoints.holdUntilReached(`RunPodSandbox/${step}`, () => void shim.runPod(POD).catch(() => undefined));
    await shim.killAndRestart();
    const pod = await shim.runPod(POD);
    await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
    await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
    t.same(await shim.leftovers(), []);
  });
}

test('a user namespace that cannot be made: the step is named, nothing is left', async (t) => {
  const shim = await start();
  t.teardown(() => shim.close());
  shim.netns.create = () => Promise.reject(new Error('no space for user namespaces'));
  await t.rejects(shim.runPod(POD), { code: status.INTERNAL, details: /^pin the network namespace: no space for user namespaces/ });
  t.same(await shim.leftovers(), []);
});

test('after a restart containers of such a pod are made as before, and its pins go with it', async (t) => {
  const shim = await start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod(POD);
  await shim.restart();
  const id = await shim.startContainer(pod, CONTAINER);
  t.same(spec(shim, id).linux?.uidMappings, UIDS);
  t.match(runcOptions(shim, id), { ioUid: 200_000, ioGid: 300_000 });
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('a record that cannot be read: its pins go with it', async (t) => {
  const shim = await start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod(POD);
  await shim.stopServing();
  const record = shim.containerd.state(NAMESPACE).containers.get(pod);
  if (record === undefined) throw new Error('no record');
  const extension = record.extensions['criquet.sandbox'];
  if (extension === undefined) throw new Error('no extension');
  extension.value = Buffer.from('{');
  await shim.restart();
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});
