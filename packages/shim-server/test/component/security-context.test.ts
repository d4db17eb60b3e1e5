import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  NamespaceMode,
  SecurityProfile_ProfileType as ProfileType,
  SupplementalGroupsPolicy,
  type ContainerConfig,
  type DeepPartial,
  type PodSandboxConfig,
} from '@criquet/cri-api';
import { decodeSpec, type RuntimeSpec } from '@criquet/runtime-containerd';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { status } from '@grpc/grpc-js';
import { test, type Test } from 'tap';
import type { CriquetConfig } from '../../src/config/index.js';
import type { Replacements } from '../../src/composition-root.js';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

type Context = NonNullable<NonNullable<DeepPartial<ContainerConfig>['linux']>['securityContext']>;
type SandboxContext = NonNullable<NonNullable<DeepPartial<PodSandboxConfig>['linux']>['securityContext']>;

interface Options {
  readonly node?: Pick<Replacements, 'nodeFacts' | 'nodeRoots'>;
  readonly security?: Partial<CriquetConfig['security']>;
  readonly pod?: SandboxContext;
}

async function start(t: Test, { node, security = {}, pod = {} }: Options = {}) {
  const shim = await Shim.start({
    ...(node === undefined ? {} : { node }),
    change: (config) => ({ ...config, security: { ...config.security, ...security } }),
  });
  t.teardown(() => shim.close());
  const podId = await shim.runPod({ linux: { securityContext: pod } });
  let count = 0;
  const specOf = (id: string): RuntimeSpec => decodeSpec(shim.containerd.state(NAMESPACE).containers.get(id)?.spec as never);
  const create = async (securityContext: Context, more: DeepPartial<ContainerConfig> = {}) => {
    const id = await shim.createContainer(podId, { metadata: { name: `c-${++count}`, attempt: 0 }, linux: { securityContext }, ...more });
    const user = (await shim.cri.runtime.containerStatus({ containerId: id })).status?.user?.linux;
    return { id, spec: specOf(id), user };
  };
  const addImage = async (name: string, image: Parameters<typeof fakeImage>[0]) => {
    shim.containerd.addImage(NAMESPACE, name, fakeImage(image));
    await eventually(async () => {
      const { image: found } = await shim.cri.image.imageStatus({ image: { image: name } });
      if (found === undefined) throw new Error('not indexed yet');
    });
  };
  return { shim, podId, create, specOf, addImage };
}

test('X1 user overflow: exactly that uid, or an error, never root', async (t) => {
  const { create, addImage } = await start(t);
  const { spec, user } = await create({ runAsUser: { value: 2147483647n }, runAsGroup: { value: 7n } });
  t.match(spec.process?.user, { uid: 2147483647, gid: 7 });
  t.match(user, { uid: 2147483647n, gid: 7n });
  for (const value of [2n ** 31n, 2n ** 32n, -1n]) {
    await t.rejects(create({ runAsUser: { value } }), { code: status.INVALID_ARGUMENT, details: /run_as_user/ }, String(value));
    await t.rejects(create({ runAsUser: { value: 1n }, runAsGroup: { value } }), { code: status.INVALID_ARGUMENT, details: /run_as_group/ });
    await t.rejects(create({ supplementalGroups: [value] }), { code: status.INVALID_ARGUMENT, details: /supplemental_groups\[0\]/ });
  }
  for (const [index, User] of ['2147483648', '4294967296:0', '1:4294967296'].entries()) {
    const image = `registry.test/overflow:${index}`;
    await addImage(image, { config: { Cmd: ['x'], User }, files: { x: User } });
    await t.rejects(create({}, { image: { image } }), { code: status.INVALID_ARGUMENT, details: /image config User/ }, User);
  }
});

test('X3 privileged and seccomp: unconfined whatever the profile says', async (t) => {
  const { create } = await start(t, { pod: { privileged: true } });
  for (const profileType of [ProfileType.RuntimeDefault, ProfileType.Unconfined, ProfileType.Localhost]) {
    const { spec } = await create({ privileged: true, seccomp: { profileType, localhostRef: profileType === ProfileType.Localhost ? '/nonexistent' : '' } });
    t.equal(spec.linux?.seccomp, undefined, ProfileType[profileType]);
  }
  t.equal((await create({ privileged: true })).spec.linux?.seccomp, undefined, 'unset');
  t.equal((await create({ privileged: true, seccompProfilePath: 'runtime/default' })).spec.linux?.seccomp, undefined, 'the deprecated field');
  t.equal((await create({ seccomp: { profileType: ProfileType.RuntimeDefault } })).spec.linux?.seccomp?.defaultAction, 'SCMP_ACT_ERRNO', 'not privileged: filtered');
});

test('seccomp: the default profile grows with the capabilities; the deprecated field counts where the new one is absent', async (t) => {
  const { create } = await start(t);
  const allowed = async (context: Context) =>
    (await create(context)).spec.linux?.seccomp?.syscalls?.filter(({ action, args }) => action === 'SCMP_ACT_ALLOW' && args === undefined).flatMap(({ names }) => names);
  const plain = await allowed({ seccomp: { profileType: ProfileType.RuntimeDefault } });
  t.ok(plain?.includes('read') && !plain.includes('reboot'));
  t.ok((await allowed({ seccompProfilePath: 'runtime/default', capabilities: { addCapabilities: ['SYS_BOOT'] } }))?.includes('reboot'));
  t.equal(await allowed({ seccomp: { profileType: ProfileType.Unconfined }, seccompProfilePath: 'runtime/default' }), undefined, 'the new field goes before the old');
});

test('X2 a seccomp profile of the node is used as it stands; one that is missing, relative or broken is none', async (t) => {
  const { create, shim } = await start(t);
  const file = join(shim.dir, 'profile.json');
  await writeFile(file, JSON.stringify({ defaultAction: 'SCMP_ACT_LOG' }));
  const localhost = (localhostRef: string) => create({ seccomp: { profileType: ProfileType.Localhost, localhostRef } });
  t.match((await localhost(file)).spec.linux?.seccomp, { defaultAction: 'SCMP_ACT_LOG' });
  t.match((await create({ seccompProfilePath: `localhost/${file}` })).spec.linux?.seccomp, { defaultAction: 'SCMP_ACT_LOG' });
  await t.rejects(localhost(`${file}.missing`), { code: status.FAILED_PRECONDITION, details: /profile\.json\.missing/ });
  await t.rejects(localhost('profile.json'), { code: status.INVALID_ARGUMENT, details: /absolute/ });
  await writeFile(file, '{');
  await t.rejects(localhost(file), { code: status.FAILED_PRECONDITION, details: /not valid JSON/ });
});

test('X4 PATH and HOME: an image without Env has the default PATH and no HOME; what the image says is kept, for exec too', async (t) => {
  const { create, addImage, shim } = await start(t);
  await addImage('registry.test/bare:1', { config: { Cmd: ['sh'] }, files: { x: 'bare' } });
  await addImage('registry.test/env:1', { config: { Cmd: ['sh'], Env: ['PATH=/own', 'HOME=/h', 'A=1'], WorkingDir: '/w' }, files: { x: 'env' } });
  const bare = (await create({}, { image: { image: 'registry.test/bare:1' } })).spec.process;
  t.ok(bare?.env?.includes('PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'));
  t.notOk(bare?.env?.some((entry) => entry.startsWith('HOME=')), 'runc reads HOME from the image');
  const own = await create({}, { image: { image: 'registry.test/env:1' } });
  t.ok(['PATH=/own', 'HOME=/h', 'A=1'].every((entry) => own.spec.process?.env?.includes(entry)));
  t.equal(own.spec.process?.cwd, '/w');
  await shim.cri.runtime.startContainer({ containerId: own.id });
  const ran: (string | undefined)[][] = [];
  shim.run((process) => {
    ran.push([process.process?.cwd, ...(process.process?.env ?? [])]);
    process.exit(0);
  });
  await shim.cri.runtime.execSync({ containerId: own.id, cmd: ['sh'], timeout: 5n });
  t.same(ran, [[own.spec.process?.cwd, ...(own.spec.process?.env ?? [])]]);
});

test('X5 group named as user: as /etc/group says with Merge, as CRI says with Strict, and the status reports it', async (t) => {
  const { create, addImage } = await start(t);
  await addImage('registry.test/groups:1', {
    config: { Cmd: ['x'] },
    files: {
      // A group of the user's name that is not its group, and one that does not name it.
      'etc/passwd': 'root:x:0:0::/:\napp:x:1000:1001::/:\n',
      'etc/group': 'root:x:0:\napp:x:2000:\nother:x:3000:app\nmine:x:1001:\nfour:x:4000:root\n',
    },
  });
  const image = { image: { image: 'registry.test/groups:1' } };
  const check = async (context: Context, gid: number, groups: number[]) => {
    const { spec, user } = await create(context, image);
    t.same(spec.process?.user, { uid: 1000, gid, additionalGids: groups });
    t.same(user, { uid: 1000n, gid: BigInt(gid), supplementalGroups: groups.map(BigInt), _unknownFields: {} });
  };
  const strict = { supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict };
  await check({ runAsUsername: 'app', supplementalGroups: [9n] }, 1001, [9, 1001, 3000]);
  await check({ runAsUser: { value: 1000n } }, 1001, [1001, 3000]);
  await check({ runAsUser: { value: 1000n }, runAsGroup: { value: 5n } }, 5, [5, 3000]);
  await check({ runAsUsername: 'app', supplementalGroups: [9n], ...strict }, 1001, [9, 1001]);
  await check({ runAsUser: { value: 1000n }, runAsGroup: { value: 5n }, supplementalGroups: [9n], ...strict }, 5, [5, 9]);
  await t.rejects(create({ supplementalGroupsPolicy: 7 as SupplementalGroupsPolicy }), { code: status.INVALID_ARGUMENT, details: /supplemental_groups_policy/ });
});

test('X6 ambient capabilities: what is added is ambient when CRI or the configuration says so', async (t) => {
  const nobody = { runAsUser: { value: 1000n }, capabilities: { dropCapabilities: ['ALL'], addCapabilities: ['NET_BIND_SERVICE'] } };
  const set = ['CAP_NET_BIND_SERVICE'];
  const plain = await start(t);
  const sets = (await plain.create(nobody)).spec.process?.capabilities;
  t.same(sets, { bounding: set, effective: set, permitted: set }, 'within reach, and gone with the execve of a user that is not root');
  const asked = { ...nobody, capabilities: { dropCapabilities: ['ALL'], addAmbientCapabilities: ['NET_BIND_SERVICE'] } };
  const all = { bounding: set, effective: set, permitted: set, inheritable: set, ambient: set };
  t.same((await plain.create(asked)).spec.process?.capabilities, all);
  const configured = await start(t, { security: { ambientCapabilities: true } });
  t.same((await configured.create(nobody)).spec.process?.capabilities, all);
  t.equal((await configured.create({})).spec.process?.capabilities?.ambient, undefined, 'the default set is not added');
});

test('capabilities, no_new_privs, masked and read-only paths, read-only root', async (t) => {
  const { create } = await start(t);
  const { process, linux, root } = (
    await create({
      capabilities: { addCapabilities: ['SYS_TIME'], dropCapabilities: ['KILL'] },
      noNewPrivs: true,
      maskedPaths: ['/proc/kcore'],
      readonlyPaths: ['/proc/sys'],
      readonlyRootfs: true,
    })
  ).spec;
  t.ok(process?.capabilities?.bounding?.includes('CAP_SYS_TIME'));
  t.notOk(process?.capabilities?.bounding?.includes('CAP_KILL'));
  t.equal(process?.noNewPrivileges, true);
  t.same(linux?.maskedPaths, ['/proc/kcore']);
  t.same(linux?.readonlyPaths, ['/proc/sys']);
  t.equal(root?.readonly, true);
  const plain = (await create({})).spec;
  t.equal(plain.process?.noNewPrivileges, false);
  t.equal(plain.root?.readonly, undefined);
  await t.rejects(create({ privileged: true }), { code: status.INVALID_ARGUMENT, details: /security_context\.privileged/ }, 'in a pod that is not');
});

/** A node with AppArmor: the kernel's list holds `mine`, and the parser loads what it is given. */
async function apparmorNode(t: Test, parser: string): Promise<Options> {
  const dir = t.testdir();
  const list = join(dir, 'sys/kernel/security/apparmor');
  await mkdir(list, { recursive: true });
  await writeFile(join(list, 'profiles'), 'mine (enforce)\n');
  const program = join(dir, 'apparmor_parser');
  await writeFile(program, `#!/bin/sh\n${parser.replace('LIST', join(list, 'profiles'))}\n`);
  await chmod(program, 0o755);
  return {
    node: { nodeFacts: { apparmorEnabled: true }, nodeRoots: { proc: '/proc', sys: join(dir, 'sys') } },
    security: { apparmorParser: program },
  };
}

const LOADS = 'grep -q "^profile criquet-default " && echo "criquet-default (enforce)" >>LIST';

test('AppArmor: the new field, the deprecated one, the default, and a profile that is not loaded', async (t) => {
  const { create } = await start(t, await apparmorNode(t, LOADS));
  const profile = async (context: Context) => (await create(context)).spec.process?.apparmorProfile;
  const { RuntimeDefault, Unconfined, Localhost } = ProfileType;
  t.equal(await profile({}), 'criquet-default');
  t.equal(await profile({ apparmor: { profileType: RuntimeDefault } }), 'criquet-default');
  t.equal(await profile({ apparmor: { profileType: Unconfined } }), undefined);
  t.equal(await profile({ apparmor: { profileType: Localhost, localhostRef: 'localhost/mine' } }), 'mine');
  t.equal(await profile({ apparmorProfile: 'localhost/mine' }), 'mine');
  t.equal(await profile({ apparmorProfile: 'localhost/absent', apparmor: { profileType: Localhost, localhostRef: 'mine' } }), 'mine');
  for (const context of [{ apparmorProfile: 'localhost/absent' }, { apparmor: { profileType: Localhost, localhostRef: 'localhost/absent' } }]) {
    await t.rejects(create(context), { code: status.FAILED_PRECONDITION, details: /"absent" is not loaded/ });
  }
});

test('AppArmor: of a sandbox, only where it asks', async (t) => {
  const { shim, podId, specOf } = await start(t, await apparmorNode(t, LOADS));
  t.equal(specOf(podId).process?.apparmorProfile, undefined);
  const metadata = { name: 'confined', namespace: 'ns', uid: 'u2' };
  const confined = (localhostRef: string) =>
    shim.runPod({ metadata, linux: { securityContext: { apparmor: { profileType: ProfileType.Localhost, localhostRef } } } });
  await t.rejects(confined('absent'), { code: status.FAILED_PRECONDITION, details: /"absent" is not loaded/ });
  t.equal(specOf(await confined('mine')).process?.apparmorProfile, 'mine');
});

test('AppArmor: a default profile that cannot be loaded, and a node that has AppArmor turned off', async (t) => {
  const wanted = { apparmor: { profileType: ProfileType.RuntimeDefault } };
  const failing = await start(t, await apparmorNode(t, 'echo "no such rule" >&2; exit 1'));
  await t.rejects(failing.create(wanted), { code: status.FAILED_PRECONDITION, details: /criquet-default is not loaded.*no such rule/ });
  const options = await apparmorNode(t, LOADS);
  const off = await start(t, { ...options, security: { ...options.security, disableApparmor: true } });
  t.equal((await off.create({})).spec.process?.apparmorProfile, undefined);
  await t.rejects(off.create(wanted), { code: status.FAILED_PRECONDITION, details: /AppArmor is not available/ });
});

test('PID, IPC and network namespaces: the pod decides, and a container of its own PID namespace', async (t) => {
  const { create, shim, specOf } = await start(t);
  const types = (spec: RuntimeSpec, path = true) =>
    spec.linux?.namespaces?.filter((namespace) => (namespace.path !== undefined) === path).map(({ type }) => type).sort();
  t.same(types((await create({})).spec), ['ipc', 'network', 'pid', 'uts']);
  const own = (await create({ namespaceOptions: { pid: NamespaceMode.CONTAINER } })).spec;
  t.ok(types(own, false)?.includes('pid') && !types(own)?.includes('pid'));
  await t.rejects(create({ namespaceOptions: { pid: NamespaceMode.NODE } }), { code: status.INVALID_ARGUMENT, details: /\.pid: NODE/ });
  const namespaceOptions = { pid: NamespaceMode.NODE, ipc: NamespaceMode.NODE, network: NamespaceMode.NODE };
  const hostPod = await shim.runPod({ metadata: { name: 'host', namespace: 'ns', uid: 'u2' }, linux: { securityContext: { namespaceOptions } } });
  t.same([types(specOf(hostPod)), types(specOf(hostPod), false)], [[], ['mount']]);
  const inHost = specOf(await shim.createContainer(hostPod, { linux: { securityContext: { namespaceOptions } } }));
  t.same(types(inHost), []);
  t.equal(inHost.mounts?.find(({ destination }) => destination === '/dev/shm')?.source, '/dev/shm', "the node's own");
});

test('PID namespace TARGET: the target is looked at again when the container starts', async (t) => {
  const { create, shim } = await start(t);
  const target = (await create({})).id;
  const options = (targetId: string) => ({ namespaceOptions: { pid: NamespaceMode.TARGET, targetId } });
  await shim.cri.runtime.startContainer({ containerId: target });
  // The fake's processes have made-up numbers: this one is there.
  Object.defineProperty(shim.containerd.process(NAMESPACE, target).init, 'pid', { value: process.pid });
  await shim.restart();
  const [first, second] = [(await create(options(target))).id, (await create(options(target))).id];
  await shim.cri.runtime.startContainer({ containerId: first });
  shim.containerd.process(NAMESPACE, target).exit(0);
  await eventually(async () => {
    if ((await shim.cri.runtime.containerStatus({ containerId: target })).status?.state !== 2) throw new Error('runs');
  });
  await t.rejects(shim.cri.runtime.startContainer({ containerId: second }), { code: status.FAILED_PRECONDITION, details: /target_id.*does not run/ });
  t.match((await shim.cri.runtime.containerStatus({ containerId: second })).status, { state: 2, reason: 'StartError' });
});

test('users and groups of a sandbox', async (t) => {
  const { specOf, podId, shim } = await start(t, { pod: { runAsUser: { value: 1000n }, runAsGroup: { value: 1001n }, supplementalGroups: [5n, 9n] } });
  t.same(specOf(podId).process?.user, { uid: 1000, gid: 1001, additionalGids: [5, 9, 1001] });
  await t.rejects(
    shim.runPod({ metadata: { name: 'x', namespace: 'ns', uid: 'u3' }, linux: { securityContext: { runAsUser: { value: 2n ** 32n } } } }),
    { code: status.INVALID_ARGUMENT, details: /run_as_user/ },
  );
});
