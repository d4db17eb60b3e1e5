import { NamespaceMode } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { buildContainerSpec, buildSandboxSpec } from '../../src/spec/index.js';
import {
  containerConfig,
  containerInput,
  errorOf,
  ID,
  node,
  SANDBOX_ID,
  sandboxConfig,
  sandboxInput,
} from './fixtures.js';

void t.test('sandbox: the built-in pause', (t) => {
  const spec = buildSandboxSpec(sandboxInput());
  t.same(spec.process?.args, ['/pause']);
  t.same(spec.root, { path: 'rootfs', readonly: true });
  t.equal(spec.hostname, 'web-0');
  t.same(spec.process?.capabilities, { bounding: [], effective: [], permitted: [] });
  t.equal(spec.process?.noNewPrivileges, true);
  t.equal(spec.process?.oomScoreAdj, -998);
  t.equal(spec.linux?.cgroupsPath, `/k8s.io/${SANDBOX_ID}`);
  t.same(spec.linux?.resources, { devices: [{ allow: false, access: 'rwm' }], cpu: { shares: 2 } });
  t.same(
    spec.mounts?.map(({ destination }) => destination),
    ['/proc', '/dev', '/dev/pts', '/dev/mqueue', '/sys', '/dev/shm'],
    'only places that exist in a root with proc, dev and sys',
  );
  t.same(spec.annotations, {
    'io.kubernetes.cri.container-type': 'sandbox',
    'io.kubernetes.cri.sandbox-id': SANDBOX_ID,
    'io.kubernetes.cri.sandbox-name': 'web',
    'io.kubernetes.cri.sandbox-namespace': 'default',
    'io.kubernetes.cri.sandbox-uid': 'uid-1',
    'io.kubernetes.cri.sandbox-log-directory': '/var/log/pods/default_web_uid-1',
    'io.kubernetes.cri.podsandbox.image-name': '',
  });
  t.end();
});

void t.test('sandbox: what the pod sets', (t) => {
  const config = sandboxConfig({
    linux: {
      cgroupParent: '/kubepods/pod1',
      sysctls: { 'net.core.somaxconn': '512' },
      resources: { cpuPeriod: 100000n, cpuQuota: 20000n, cpuShares: 102n, memoryLimitInBytes: 1000n },
      securityContext: { runAsUser: { value: 65534n }, selinuxOptions: { level: 's0:c1' } },
    },
  });
  const spec = buildSandboxSpec(
    sandboxInput({
      config,
      node: node({ oomScoreAdjMin: 0, selinuxEnabled: true }),
      files: { shm: '/s', resolvConf: '/r' },
      seccomp: { defaultAction: 'SCMP_ACT_ERRNO' },
      passthroughAnnotations: { 'io.katacontainers.x': '1', 'io.kubernetes.cri.sandbox-id': 'no' },
    }),
  );
  t.equal(spec.linux?.cgroupsPath, `/kubepods/pod1/${SANDBOX_ID}`);
  t.equal(spec.process?.user.uid, 65534);
  t.equal(spec.process?.oomScoreAdj, 0, 'clamped');
  t.match(spec.linux?.sysctl, { 'net.core.somaxconn': '512', 'net.ipv4.ping_group_range': '0 2147483647' });
  t.match(spec.annotations, {
    'io.kubernetes.cri.sandbox-cpu-period': '100000',
    'io.kubernetes.cri.sandbox-cpu-quota': '20000',
    'io.kubernetes.cri.sandbox-cpu-shares': '102',
    'io.kubernetes.cri.sandbox-memory': '1000',
    'io.katacontainers.x': '1',
    'io.kubernetes.cri.sandbox-id': SANDBOX_ID,
  });
  t.equal(spec.process?.selinuxLabel, 'system_u:system_r:container_t:s0:c1');
  t.equal(spec.linux?.mountLabel, 'system_u:object_r:container_file_t:s0:c1');
  t.same(spec.linux?.seccomp, { defaultAction: 'SCMP_ACT_ERRNO' });
  t.match(spec.mounts?.at(-1), {
    source: '/r',
    destination: '/etc/resolv.conf',
    options: ['rbind', 'ro', 'nosuid', 'nodev', 'noexec'],
  });
  t.end();
});

void t.test('sandbox: /sys is writable in a privileged pod, so that a privileged container can have it so', (t) => {
  const sysfs = (privileged: boolean) =>
    buildSandboxSpec(
      sandboxInput({ config: sandboxConfig({ linux: { securityContext: { privileged } } }) }),
    ).mounts?.find(({ type }) => type === 'sysfs')?.options;
  t.ok(sysfs(true)?.includes('rw'));
  t.ok(sysfs(false)?.includes('ro'));
  t.end();
});

void t.test("N8 hostNetwork hostname: the node's name is never set", (t) => {
  const config = sandboxConfig({
    hostname: 'foo',
    linux: { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } },
  });
  const spec = buildSandboxSpec(sandboxInput({ config, netnsPath: undefined }));
  t.equal(spec.hostname, undefined);
  t.notOk(spec.linux?.namespaces?.some(({ type }) => type === 'uts' || type === 'network'));
  t.same(spec.linux?.sysctl, {});
  const container = buildContainerSpec(containerInput({ sandboxConfig: config }));
  t.ok(container.process?.env?.includes('HOSTNAME=node-1'), 'and containers are told the name they see');
  t.end();
});

void t.test('sandbox: a configured image', async (t) => {
  const imageConfig = { Entrypoint: ['/p'], Cmd: ['-v'], Env: ['A=1'], WorkingDir: '/w' };
  const spec = buildSandboxSpec(
    sandboxInput({ imageConfig, imageName: 'pause:3', user: { uid: 1, gid: 1, additionalGids: [1] } }),
  );
  t.same(spec.process?.args, ['/p', '-v']);
  t.equal(spec.process?.cwd, '/w');
  t.ok(spec.process?.env?.includes('A=1'));
  t.equal(spec.process?.user.uid, 1);
  t.equal(spec.annotations?.['io.kubernetes.cri.podsandbox.image-name'], 'pause:3');
  t.match(
    (await errorOf(() => buildSandboxSpec(sandboxInput({ imageConfig: {} })))).message,
    /sandbox_image: .*no entrypoint/,
  );
});

void t.test('sandbox: a host name that the kernel would refuse', async (t) => {
  const error = await errorOf(() =>
    buildSandboxSpec(sandboxInput({ config: sandboxConfig({ hostname: 'x'.repeat(65) }) })),
  );
  t.match(error.message, /config\.hostname/);
});

void t.test('container: defaults', (t) => {
  const spec = buildContainerSpec(containerInput());
  t.same(spec.root, { path: 'rootfs' });
  t.equal(spec.hostname, undefined, 'a container joins the UTS namespace as it is');
  t.equal(spec.process?.terminal, undefined);
  t.equal(spec.process?.noNewPrivileges, false);
  t.equal(spec.process?.rlimits, undefined);
  t.equal(spec.process?.oomScoreAdj, 0);
  t.equal(spec.process?.apparmorProfile, undefined);
  t.equal(spec.linux?.seccomp, undefined);
  t.same(spec.linux?.maskedPaths, []);
  t.same(spec.linux?.resources, { devices: [{ allow: false, access: 'rwm' }] });
  t.equal(spec.linux?.cgroupsPath, `/k8s.io/${ID}`);
  t.ok(spec.process?.env?.includes('HOSTNAME=web-0'));
  t.same(spec.annotations, {
    'io.kubernetes.cri.container-type': 'container',
    'io.kubernetes.cri.sandbox-id': SANDBOX_ID,
    'io.kubernetes.cri.sandbox-name': 'web',
    'io.kubernetes.cri.sandbox-namespace': 'default',
    'io.kubernetes.cri.sandbox-uid': 'uid-1',
    'io.kubernetes.cri.container-name': 'server',
    'io.kubernetes.cri.image-name': 'docker.io/library/busybox:latest',
  });
  t.end();
});

void t.test('container: what it asks for', (t) => {
  const config = containerConfig({
    tty: true,
    workingDir: '/w',
    linux: {
      resources: { cpuShares: 512n, oomScoreAdj: -900n },
      securityContext: {
        readonlyRootfs: true,
        noNewPrivs: true,
        maskedPaths: ['/proc/kcore'],
        readonlyPaths: ['/proc/sys'],
        selinuxOptions: { type: 'own_t' },
      },
    },
  });
  const spec = buildContainerSpec(
    containerInput({
      config,
      sandboxConfig: sandboxConfig({ linux: { securityContext: { selinuxOptions: { type: 'pod_t' } } } }),
      node: node({ oomScoreAdjMin: 5, selinuxEnabled: true }),
      mounts: { binds: [], rootfsPropagation: 'rslave', createdSources: [] },
      seccomp: { defaultAction: 'SCMP_ACT_LOG' },
      apparmorProfile: 'mine',
      namespace: 'other',
      passthroughAnnotations: { a: 'b' },
    }),
  );
  t.match(spec, {
    process: {
      terminal: true,
      cwd: '/w',
      noNewPrivileges: true,
      oomScoreAdj: 5,
      apparmorProfile: 'mine',
      selinuxLabel: /:own_t:/,
    },
    root: { path: 'rootfs', readonly: true },
    annotations: { a: 'b' },
    linux: {
      resources: { cpu: { shares: 512 } },
      cgroupsPath: `/other/${ID}`,
      maskedPaths: ['/proc/kcore'],
      readonlyPaths: ['/proc/sys'],
      rootfsPropagation: 'rslave',
      seccomp: { defaultAction: 'SCMP_ACT_LOG' },
    },
  });
  t.ok(spec.process?.env?.includes('TERM=xterm'));
  const ofPod = buildContainerSpec(
    containerInput({
      sandboxConfig: sandboxConfig({ linux: { securityContext: { selinuxOptions: { type: 'pod_t' } } } }),
      node: node({ selinuxEnabled: true }),
    }),
  );
  t.match(ofPod.process?.selinuxLabel, /:pod_t:/, 'the pod options count where the container has none');
  t.end();
});

void t.test('container: privileged only in a privileged sandbox, and then with nothing hidden', async (t) => {
  const config = containerConfig({
    linux: { securityContext: { privileged: true, maskedPaths: ['/proc/kcore'], readonlyPaths: ['/proc/sys'] } },
  });
  const error = await errorOf(() => buildContainerSpec(containerInput({ config })));
  t.equal(error.code, status.INVALID_ARGUMENT);
  t.match(error.message, /privileged: needs a privileged pod sandbox/);
  const spec = buildContainerSpec(
    containerInput({ config, sandboxConfig: sandboxConfig({ linux: { securityContext: { privileged: true } } }) }),
  );
  t.same(spec.linux?.maskedPaths, []);
  t.same(spec.linux?.readonlyPaths, []);
  t.equal(spec.process?.capabilities?.effective?.length, 41);
  t.ok(spec.mounts?.find(({ destination }) => destination === '/sys')?.options?.includes('rw'));
});
