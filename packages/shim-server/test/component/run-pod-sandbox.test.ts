import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { NamespaceMode, SecurityProfile_ProfileType as ProfileType, SupplementalGroupsPolicy, type LinuxSandboxSecurityContext, type DeepPartial } from '@criquet/cri-api';
import { test, type Test } from 'tap';
import { recordedSpec } from './recorded-spec.js';
import { Shim } from './shim-harness.js';

// What a pod's configuration asks for, field by field; docs/cri-support.md names these tests.

async function started(t: Test, options: Parameters<typeof Shim.start>[0] = {}): Promise<Shim> {
  const shim = await Shim.start(options);
  t.teardown(() => shim.close());
  return shim;
}

const security = (securityContext: DeepPartial<LinuxSandboxSecurityContext>) => ({ linux: { securityContext } });

test('RunPodSandbox: metadata, labels, annotations and handler come back in status and list, and CNI is told the names', async (t) => {
  const shim = await started(t);
  const metadata = { name: 'web', uid: 'uid-9', namespace: 'shop', attempt: 7 };
  const config = shim.sandboxConfig({ metadata, labels: { tier: 'front' }, annotations: { note: 'x' } });
  const { podSandboxId } = await shim.cri.runtime.runPodSandbox({ config, runtimeHandler: 'runc' });
  const shown = { id: podSandboxId, metadata, labels: { tier: 'front' }, annotations: { note: 'x' }, runtimeHandler: 'runc' };
  const { status: pod } = await shim.cri.runtime.podSandboxStatus({ podSandboxId });
  t.match(pod, shown);
  t.match((await shim.cri.runtime.listPodSandbox({})).items, [shown]);
  t.match(shim.plugins.calls[0]?.args, /K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web;.*K8S_POD_UID=uid-9/);
  t.match(recordedSpec(shim, podSandboxId).annotations, {
    'io.kubernetes.cri.sandbox-name': 'web',
    'io.kubernetes.cri.sandbox-namespace': 'shop',
    'io.kubernetes.cri.sandbox-uid': 'uid-9',
    'io.kubernetes.cri.sandbox-log-directory': join(shim.dir, 'logs'),
  });
});

test('RunPodSandbox: host name, cgroup parent, sysctls and resources reach the pause process', async (t) => {
  const shim = await started(t);
  const pod = await shim.runPod({
    hostname: 'web',
    linux: {
      cgroupParent: '/kubepods/pod-1',
      sysctls: { 'net.core.somaxconn': '77' },
      resources: { cpuPeriod: 100_000n, cpuQuota: 50_000n, cpuShares: 512n, memoryLimitInBytes: 1_000n },
      overhead: { memoryLimitInBytes: 99n },
    },
  });
  const spec = recordedSpec(shim, pod);
  t.equal(spec.hostname, 'web');
  t.equal(spec.linux?.cgroupsPath, `/kubepods/pod-1/${pod}`);
  t.equal(spec.linux?.sysctl?.['net.core.somaxconn'], '77');
  t.match(spec.annotations, {
    'io.kubernetes.cri.sandbox-cpu-period': '100000',
    'io.kubernetes.cri.sandbox-cpu-quota': '50000',
    'io.kubernetes.cri.sandbox-cpu-shares': '512',
    'io.kubernetes.cri.sandbox-memory': '1000',
  });
  const { info } = await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod, verbose: true });
  t.match(info.info, /"overhead": ?\{[^}]*\b99\b/);
});

test('RunPodSandbox: user, groups and SELinux options of the pause process', async (t) => {
  const shim = await started(t, { node: { nodeFacts: { selinuxEnabled: true } } });
  const pod = await shim.runPod(
    security({
      runAsUser: { value: 1234n },
      runAsGroup: { value: 2345n },
      supplementalGroups: [3456n],
      selinuxOptions: { user: 'u_u', role: 'r_r', type: 't_t', level: 's0:c1,c2' },
    }),
  );
  const { process, linux } = recordedSpec(shim, pod);
  t.match(process?.user, { uid: 1234, gid: 2345, additionalGids: [2345, 3456] });
  t.equal(process?.selinuxLabel, 'u_u:r_r:t_t:s0:c1,c2');
  t.match(linux?.mountLabel, /:s0:c1,c2$/);
});

test('RunPodSandbox: the seccomp profile of the pause process; seccomp_profile_path counts where seccomp is absent', async (t) => {
  const shim = await started(t, { node: { nodeFacts: { seccompEnabled: true } } });
  const file = join(shim.dir, 'profile.json');
  await writeFile(file, JSON.stringify({ defaultAction: 'SCMP_ACT_LOG' }));
  let attempt = 0;
  const seccomp = async (context: DeepPartial<LinuxSandboxSecurityContext>) =>
    recordedSpec(shim, await shim.runPod({ metadata: { name: 'pod', namespace: 'ns', uid: 'u', attempt: attempt++ }, ...security(context) })).linux?.seccomp;
  t.equal(await seccomp({}), undefined);
  t.match(await seccomp({ seccomp: { profileType: ProfileType.RuntimeDefault } }), { defaultAction: 'SCMP_ACT_ERRNO' });
  t.match(await seccomp({ seccomp: { profileType: ProfileType.Localhost, localhostRef: file } }), { defaultAction: 'SCMP_ACT_LOG' });
  t.equal(await seccomp({ seccomp: { profileType: ProfileType.Unconfined }, seccompProfilePath: 'runtime/default' }), undefined);
  t.match(await seccomp({ seccompProfilePath: 'runtime/default' }), { defaultAction: 'SCMP_ACT_ERRNO' });
});

test('RunPodSandbox: a privileged pod is unconfined, and its sysfs can be written to', async (t) => {
  const shim = await started(t, { node: { nodeFacts: { seccompEnabled: true } } });
  const pod = await shim.runPod(security({ privileged: true, seccomp: { profileType: ProfileType.RuntimeDefault } }));
  const spec = recordedSpec(shim, pod);
  t.equal(spec.linux?.seccomp, undefined);
  t.ok(spec.mounts?.find(({ destination }) => destination === '/sys')?.options?.includes('rw'));
});

test('RunPodSandbox: namespaces by mode, and the status tells them', async (t) => {
  const shim = await started(t);
  const options = { network: NamespaceMode.NODE, pid: NamespaceMode.NODE, ipc: NamespaceMode.NODE };
  const host = await shim.runPod({ metadata: { name: 'host', namespace: 'ns', uid: 'h', attempt: 0 }, ...security({ namespaceOptions: options }) });
  t.same(recordedSpec(shim, host).linux?.namespaces?.map(({ type }) => type), ['mount']);
  t.match((await shim.cri.runtime.podSandboxStatus({ podSandboxId: host })).status?.linux?.namespaces?.options, options);
  const own = await shim.runPod(security({ namespaceOptions: { network: NamespaceMode.POD, pid: NamespaceMode.CONTAINER, ipc: NamespaceMode.POD } }));
  t.same(recordedSpec(shim, own).linux?.namespaces?.map(({ type }) => type).sort(), ['ipc', 'mount', 'network', 'pid', 'uts']);
});

test('RunPodSandbox: what the pause process does not take: a writable root, a groups policy', async (t) => {
  const shim = await started(t);
  const pod = await shim.runPod(security({ readonlyRootfs: false, supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict }));
  t.match(recordedSpec(shim, pod), { root: { readonly: true }, process: { user: { uid: 0 } } });
});

test('RunPodSandbox: the log directory is where containers log, and the DNS configuration what they resolve by', async (t) => {
  const shim = await started(t);
  shim.run((process) => process.stdout('said\n'));
  const logDirectory = join(shim.dir, 'elsewhere');
  const pod = await shim.runPod({ logDirectory, dnsConfig: { servers: ['9.9.9.9'], searches: ['a.test'], options: ['ndots:2'] } });
  const container = await shim.startContainer(pod);
  const source = recordedSpec(shim, container).mounts?.find(({ destination }) => destination === '/etc/resolv.conf')?.source ?? '';
  t.equal(await readFile(source, 'utf8'), 'search a.test\nnameserver 9.9.9.9\noptions ndots:2\n');
  await shim.cri.runtime.stopContainer({ containerId: container });
  t.match(await readFile(join(logDirectory, 'app/0.log'), 'utf8'), /^\S+ stdout F said\n$/);
});

test('StopPodSandbox and RemovePodSandbox act on the pod that is named', async (t) => {
  const shim = await started(t);
  const { runtime } = shim.cri;
  const one = await shim.runPod();
  const two = await shim.runPod({ metadata: { name: 'two', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
  await runtime.stopPodSandbox({ podSandboxId: two });
  const states = async () => (await runtime.listPodSandbox({})).items.map(({ id, state }) => [id, state]);
  t.same(await states(), [[one, 0], [two, 1]]);
  await runtime.removePodSandbox({ podSandboxId: two });
  t.same(await states(), [[one, 0]]);
  await t.rejects(runtime.podSandboxStatus({ podSandboxId: two }), { code: status.NOT_FOUND });
});
