import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { NamespaceMode, SecurityProfile_ProfileType as ProfileType, SupplementalGroupsPolicy, type ContainerConfig, type DeepPartial, type LinuxContainerSecurityContext } from '@criquet/cri-api';
import { test, type Test } from 'tap';
import { recordedSpec } from './recorded-spec.js';
import { NAMESPACE, Shim } from './shim-harness.js';

// What a container's configuration asks for, field by field; docs/cri-support.md names these tests.

type NodeFactsOfTest = NonNullable<NonNullable<NonNullable<Parameters<typeof Shim.start>[0]>['node']>['nodeFacts']>;

/** A node with one ready pod, and the specs of containers made in it. */
class Pod {
  private made = 0;

  private constructor(
    readonly shim: Shim,
    readonly id: string,
  ) {}

  static async start(t: Test, nodeFacts: NodeFactsOfTest = {}, privileged = false): Promise<Pod> {
    const shim = await Shim.start({ node: { nodeFacts } });
    t.teardown(() => shim.close());
    return new Pod(shim, await shim.runPod({ linux: { securityContext: { privileged } } }));
  }

  async container(change: DeepPartial<ContainerConfig>) {
    const id = await this.shim.createContainer(this.id, { metadata: { name: `c${this.made++}`, attempt: 0 }, ...change });
    return recordedSpec(this.shim, id);
  }

  secured(securityContext: DeepPartial<LinuxContainerSecurityContext>) {
    return this.container({ linux: { securityContext } });
  }
}

test('CreateContainer: the process: command, arguments, directory, environment, terminal', async (t) => {
  const pod = await Pod.start(t);
  t.match((await pod.container({})).process, { args: ['/app'], cwd: '/' });
  t.match((await pod.container({ args: ['-v'] })).process?.args, ['-v']);
  const own = await pod.container({ command: ['/bin/x'], args: ['1'], workingDir: '/w', envs: [{ key: 'FROM', value: Buffer.from('config') }], tty: true });
  t.match(own.process, { args: ['/bin/x', '1'], cwd: '/w', terminal: true });
  t.same(own.process?.env?.filter((entry) => entry.startsWith('FROM=')), ['FROM=config']);
});

test('CreateContainer: metadata, labels, annotations, image and log path come back in status and list', async (t) => {
  const pod = await Pod.start(t);
  const { runtime } = pod.shim.cri;
  const metadata = { name: 'app', attempt: 4 };
  const image = { image: pod.shim.image.id, userSpecifiedImage: 'app:latest' };
  const containerId = await pod.shim.createContainer(pod.id, { metadata, image, labels: { a: 'b' }, annotations: { c: 'd' }, logPath: 'deep/4.log' });
  const { status: container } = await runtime.containerStatus({ containerId });
  t.match(container, {
    id: containerId, metadata, labels: { a: 'b' }, annotations: { c: 'd' }, logPath: join(pod.shim.dir, 'logs/deep/4.log'),
    image: { userSpecifiedImage: 'app:latest' }, imageId: pod.shim.image.id,
  });
  t.match(container?.imageRef, /@sha256:/);
  const { containers } = await runtime.listContainers({});
  t.match(containers, [{
    id: containerId, podSandboxId: pod.id, metadata, labels: { a: 'b' }, annotations: { c: 'd' }, state: 0, createdAt: container?.createdAt,
    image, imageRef: pod.shim.image.id, imageId: pod.shim.image.id,
  }]);
  t.match(recordedSpec(pod.shim, containerId).annotations, { 'io.kubernetes.cri.container-name': 'app' });
});

test('CreateContainer: devices: path on the node, path inside, permissions', async (t) => {
  const pod = await Pod.start(t);
  const link = join(pod.shim.dir, 'link');
  await symlink('/dev/zero', link);
  const { linux } = await pod.container({ devices: [{ hostPath: link, containerPath: '/dev/nothing', permissions: 'r' }] });
  t.match(linux?.devices, [{ path: '/dev/nothing', type: 'c', major: 1, minor: 5 }]);
  t.same(linux?.resources?.devices?.at(-1), { allow: true, type: 'c', major: 1, minor: 5, access: 'r' });
});

test('CreateContainer: resources, each in its place of the spec', async (t) => {
  const pod = await Pod.start(t, { cgroup: 'v2', controllers: ['cpu', 'memory', 'hugetlb'], hugepageSizes: ['2MB'], swapAccounting: true, oomScoreAdjMin: -1000 });
  const { linux, process } = await pod.container({
    linux: {
      resources: {
        cpuPeriod: 50_000n, cpuQuota: 20_000n, cpuShares: 512n, memoryLimitInBytes: 64_000_000n, memorySwapLimitInBytes: 96_000_000n,
        oomScoreAdj: 500n, cpusetCpus: '0', cpusetMems: '0', hugepageLimits: [{ pageSize: '2MB', limit: 4_194_304n }], unified: { 'memory.high': '60000000' },
      },
    },
  });
  t.match(linux?.resources, {
    cpu: { period: 50_000, quota: 20_000, shares: 512, cpus: '0', mems: '0' },
    memory: { limit: 64_000_000, swap: 96_000_000 },
    hugepageLimits: [{ pageSize: '2MB', limit: 4_194_304 }],
    unified: { 'memory.high': '60000000' },
  });
  t.equal(process?.oomScoreAdj, 500);
});

test('CreateContainer: user, group and supplemental groups, by number and by name, Merge and Strict', async (t) => {
  const pod = await Pod.start(t);
  const user = async (context: DeepPartial<LinuxContainerSecurityContext>) => (await pod.secured(context)).process?.user;
  t.match(await user({ runAsUser: { value: 1234n }, runAsGroup: { value: 2345n }, supplementalGroups: [3456n] }), { uid: 1234, gid: 2345, additionalGids: [2345, 3456] });
  t.match(await user({ runAsUsername: 'app' }), { uid: 1000, gid: 1000, additionalGids: [1000, 2000] });
  const strict = { runAsUsername: 'app', supplementalGroups: [3456n], supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict };
  t.same((await user(strict))?.additionalGids, [1000, 3456], 'not what /etc/group of the image says');
});

test('CreateContainer: capabilities are added to and dropped from the default ones', async (t) => {
  const pod = await Pod.start(t);
  const bounding = async (capabilities: LinuxContainerSecurityContext['capabilities']) => (await pod.secured({ ...(capabilities && { capabilities }) })).process?.capabilities?.bounding ?? [];
  const none = { addCapabilities: [], dropCapabilities: [], addAmbientCapabilities: [] };
  t.notOk((await bounding(none)).includes('CAP_NET_ADMIN'));
  t.ok((await bounding({ ...none, addCapabilities: ['NET_ADMIN'] })).includes('CAP_NET_ADMIN'));
  t.same(await bounding({ ...none, dropCapabilities: ['ALL'] }), []);
});

test('CreateContainer: no_new_privs, read-only root, masked and read-only paths', async (t) => {
  const pod = await Pod.start(t);
  const plain = await pod.secured({});
  t.match(plain, { process: { noNewPrivileges: false }, linux: { maskedPaths: [], readonlyPaths: [] } });
  t.not(plain.root?.readonly, true);
  const tight = await pod.secured({ noNewPrivs: true, readonlyRootfs: true, maskedPaths: ['/proc/kcore'], readonlyPaths: ['/proc/sys'] });
  t.match(tight, { process: { noNewPrivileges: true }, root: { readonly: true }, linux: { maskedPaths: ['/proc/kcore'], readonlyPaths: ['/proc/sys'] } });
});

test('CreateContainer: privileged: everything the node has, nothing masked, only in a privileged pod', async (t) => {
  const pod = await Pod.start(t, { seccompEnabled: true, capabilities: ['CAP_CHOWN', 'CAP_SYS_ADMIN'] }, true);
  const spec = await pod.secured({ privileged: true, maskedPaths: ['/proc/kcore'], seccomp: { profileType: ProfileType.RuntimeDefault } });
  t.same(spec.process?.capabilities?.bounding, ['CAP_CHOWN', 'CAP_SYS_ADMIN']);
  t.same(spec.linux?.maskedPaths, []);
  t.equal(spec.linux?.seccomp, undefined);
  const plain = await Pod.start(t);
  await t.rejects(plain.secured({ privileged: true }), { code: status.INVALID_ARGUMENT, details: /security_context\.privileged/ });
});

test('CreateContainer: SELinux options of the container, else those of the pod', async (t) => {
  const pod = await Pod.start(t, { selinuxEnabled: true });
  const spec = await pod.secured({ selinuxOptions: { user: 'u_u', role: 'r_r', type: 't_t', level: 's0:c1,c2' } });
  t.equal(spec.process?.selinuxLabel, 'u_u:r_r:t_t:s0:c1,c2');
  t.match(spec.linux?.mountLabel, /^u_u:.*:s0:c1,c2$/);
});

test('CreateContainer: seccomp; seccomp_profile_path counts where seccomp is absent', async (t) => {
  const pod = await Pod.start(t, { seccompEnabled: true });
  const file = join(pod.shim.dir, 'profile.json');
  await writeFile(file, JSON.stringify({ defaultAction: 'SCMP_ACT_LOG' }));
  const seccomp = async (context: DeepPartial<LinuxContainerSecurityContext>) => (await pod.secured(context)).linux?.seccomp;
  t.equal(await seccomp({}), undefined, 'unconfined');
  t.match(await seccomp({ seccomp: { profileType: ProfileType.RuntimeDefault } }), { defaultAction: 'SCMP_ACT_ERRNO' });
  t.match(await seccomp({ seccomp: { profileType: ProfileType.Localhost, localhostRef: file } }), { defaultAction: 'SCMP_ACT_LOG' });
  t.match(await seccomp({ seccompProfilePath: `localhost/${file}` }), { defaultAction: 'SCMP_ACT_LOG' });
  t.equal(await seccomp({ seccomp: { profileType: ProfileType.Unconfined }, seccompProfilePath: 'runtime/default' }), undefined);
});

test('CreateContainer: AppArmor, in both fields, is refused where the kernel does not have it; unconfined is not', async (t) => {
  const pod = await Pod.start(t, { apparmorEnabled: false });
  const refused = { code: status.FAILED_PRECONDITION, details: /apparmor/i };
  await t.rejects(pod.secured({ apparmor: { profileType: ProfileType.Localhost, localhostRef: 'mine' } }), refused);
  await t.rejects(pod.secured({ apparmorProfile: 'localhost/mine' }), refused);
  t.equal((await pod.secured({ apparmor: { profileType: ProfileType.Unconfined } })).process?.apparmorProfile, undefined);
});

test('CreateContainer: PID namespace of the pod, of its own, of the node; IPC and network as the pod has them', async (t) => {
  const pod = await Pod.start(t);
  const pid = pod.shim.containerd.process(NAMESPACE, pod.id).pid;
  const namespaces = async (mode: NamespaceMode) => {
    const { linux } = await pod.secured({ namespaceOptions: { pid: mode } });
    return Object.fromEntries(linux?.namespaces?.map(({ type, path }) => [type, path]) ?? []);
  };
  t.match(await namespaces(NamespaceMode.POD), { pid: `/proc/${pid}/ns/pid`, ipc: `/proc/${pid}/ns/ipc`, network: /netns/ });
  const own = await namespaces(NamespaceMode.CONTAINER);
  t.ok('pid' in own);
  t.equal(own.pid, undefined);
  await t.rejects(namespaces(NamespaceMode.NODE), { code: status.INVALID_ARGUMENT, details: /namespace_options\.pid/ });
});

test('CreateContainer: the pod is the one that is named, and its configuration is the one it was made with', async (t) => {
  const pod = await Pod.start(t);
  const other = await pod.shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'uid-2', attempt: 0 }, linux: { cgroupParent: '/real' } });
  const request = { podSandboxId: other, config: pod.shim.containerConfig(), sandboxConfig: pod.shim.sandboxConfig({ linux: { cgroupParent: '/other' } }) };
  const { containerId } = await pod.shim.cri.runtime.createContainer(request);
  t.equal(recordedSpec(pod.shim, containerId).linux?.cgroupsPath, `/real/${containerId}`);
});
