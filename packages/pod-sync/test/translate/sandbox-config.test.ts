import { NamespaceMode, Protocol, SecurityProfile_ProfileType, SupplementalGroupsPolicy } from '@criquet/cri-api';
import t from 'tap';
import { sandboxConfig, type TranslationOptions } from '../../src/index.js';
import { dnsConfig } from '../../src/translate/dns-config.js';
import { podHostname } from '../../src/translate/hostname.js';
import { containerHash, sandboxHash } from '../../src/translate/pod-hash.js';
import { firstContainer, manifest, node } from '../fixtures.js';

const options: TranslationOptions = { node, logRoot: '/var/log/pods', seccompRoot: '/seccomp', cgroupParent: '', clusterDns: undefined };
const MINIMAL = 'containers: [{name: a, image: b}]';

await t.test('metadata, labels and log directory as the kubelet makes them', async (t) => {
  const { pod } = manifest(MINIMAL, '', 'namespace: ns, uid: u-1, labels: {app: x}, annotations: {note: text}');
  const config = sandboxConfig(pod, 2, options);
  t.match(config.metadata, { name: 'p', namespace: 'ns', uid: 'u-1', attempt: 2 });
  t.same(config.labels, {
    app: 'x',
    'io.kubernetes.pod.name': 'p',
    'io.kubernetes.pod.namespace': 'ns',
    'io.kubernetes.pod.uid': 'u-1',
  });
  t.equal(config.annotations.note, 'text');
  t.equal(config.logDirectory, '/var/log/pods/ns_p_u-1');
  t.equal(config.hostname, 'p');
  t.equal(config.linux?.cgroupParent, '');
  t.match(config.linux?.securityContext?.namespaceOptions, {
    network: NamespaceMode.POD,
    pid: NamespaceMode.CONTAINER,
    ipc: NamespaceMode.POD,
  });
  t.equal(config.linux?.securityContext?.seccomp?.profileType, SecurityProfile_ProfileType.RuntimeDefault);
  t.equal(config.linux?.securityContext?.privileged, false);
});

await t.test('namespaces of the node', async (t) => {
  const { pod } = manifest(`hostNetwork: true\nhostPID: true\nhostIPC: true\n${MINIMAL}`);
  const config = sandboxConfig(pod, 0, options);
  t.match(config.linux?.securityContext?.namespaceOptions, {
    network: NamespaceMode.NODE,
    pid: NamespaceMode.NODE,
    ipc: NamespaceMode.NODE,
  });
  t.equal(config.hostname, '', "the node's name stays");
  const shared = sandboxConfig(manifest(`shareProcessNamespace: true\n${MINIMAL}`).pod, 0, options);
  t.equal(shared.linux?.securityContext?.namespaceOptions?.pid, NamespaceMode.POD);
});

await t.test('security context of the pod', async (t) => {
  const { pod } = manifest(`
securityContext:
  runAsUser: 1000
  runAsGroup: 2000
  fsGroup: 3000
  supplementalGroups: [4000]
  supplementalGroupsPolicy: Strict
  seLinuxOptions: {user: u, role: r, type: t, level: l}
  sysctls: [{name: net.ipv4.ip_forward, value: "1"}]
containers:
  - {name: a, image: b}
  - {name: c, image: b, securityContext: {privileged: true}}`);
  const { linux } = sandboxConfig(pod, 0, options);
  t.match(linux?.securityContext, {
    runAsUser: { value: 1000n },
    runAsGroup: { value: 2000n },
    supplementalGroups: [3000n, 4000n],
    supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict,
    privileged: true,
    selinuxOptions: { user: 'u', role: 'r', type: 't', level: 'l' },
  });
  t.same(linux?.sysctls, { 'net.ipv4.ip_forward': '1' });
});

await t.test('ports: of containers and sidecars, once each; host port of a pod in the network of the node', async (t) => {
  const ports = `
initContainers:
  - {name: i, image: b, ports: [{containerPort: 1}]}
  - {name: s, image: b, restartPolicy: Always, ports: [{containerPort: 2, protocol: UDP}]}
containers:
  - {name: a, image: b, ports: [{containerPort: 80, hostPort: 8080, hostIP: 127.0.0.1}, {containerPort: 9, protocol: SCTP}]}
  - {name: c, image: b, ports: [{containerPort: 9, protocol: SCTP}]}`;
  const plain = (spec: string) =>
    sandboxConfig(manifest(spec).pod, 0, options).portMappings.map((m) => [m.protocol, m.containerPort, m.hostPort, m.hostIp]);
  t.same(plain(ports), [
    [Protocol.UDP, 2, 0, ''],
    [Protocol.TCP, 80, 8080, '127.0.0.1'],
    [Protocol.SCTP, 9, 0, ''],
  ]);
  t.same(plain(`hostNetwork: true\ncontainers: [{name: a, image: b, ports: [{containerPort: 80}]}]`), [[Protocol.TCP, 80, 80, '']]);
});

await t.test('resources of the pod: sums over containers and sidecars, and the overhead', async (t) => {
  const { pod } = manifest(`
overhead: {cpu: 250m, memory: 64Mi}
initContainers:
  - {name: i, image: b, resources: {limits: {cpu: "8", memory: 8Gi}}}
  - {name: s, image: b, restartPolicy: Always, resources: {limits: {cpu: 500m, memory: 64Mi}}}
containers:
  - {name: a, image: b, resources: {requests: {cpu: 100m}, limits: {cpu: "1", memory: 64Mi}}}`);
  const { linux } = sandboxConfig(pod, 0, options);
  t.match(linux?.resources, { cpuPeriod: 100_000n, cpuQuota: 150_000n, cpuShares: 102n, memoryLimitInBytes: 134_217_728n });
  t.match(linux?.overhead, { cpuQuota: 25_000n, cpuShares: 256n, memoryLimitInBytes: 67_108_864n });
  t.equal(sandboxConfig(manifest(MINIMAL).pod, 0, options).linux?.overhead, undefined);
});

await t.test('host name', async (t) => {
  const name = (spec: string, metadata = '') => podHostname(manifest(`${spec}\n${MINIMAL}`, '', metadata).pod, 'cluster.local');
  t.same(name('restartPolicy: Never'), { hostname: 'p', domain: '' });
  t.same(name('hostname: h'), { hostname: 'h', domain: '' });
  t.same(name('subdomain: sub'), { hostname: 'p', domain: 'sub.default.svc.cluster.local' });
  t.same(name('subdomain: sub\nsetHostnameAsFQDN: true').hostname, 'p.sub.default.svc.cluster.local');
  const long = manifest(MINIMAL).pod;
  const longName = `${'a'.repeat(60)}-.-bc`;
  t.equal(podHostname({ ...long, metadata: { ...long.metadata, name: longName } }, 'c').hostname, 'a'.repeat(60), 'cut to 63, no dash at the end');
});

await t.test('DNS by policy', async (t) => {
  const cluster = { servers: ['10.96.0.10'], domain: 'cluster.local' };
  const dns = (spec: string, withCluster = true) =>
    dnsConfig(manifest(`${spec}\n${MINIMAL}`).pod, node.resolvConf, withCluster ? cluster : undefined);
  const host = { servers: ['192.0.2.53'], searches: ['example.test'], options: ['timeout:2'] };
  const inCluster = {
    servers: ['10.96.0.10'],
    searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.test'],
    options: ['ndots:5'],
  };
  t.same(dns('dnsPolicy: Default'), host);
  t.same(dns('dnsPolicy: ClusterFirst'), inCluster);
  t.same(dns('dnsPolicy: ClusterFirst', false), host, 'no cluster DNS');
  t.same(dns('hostNetwork: true'), host, 'ClusterFirst in the network of the node');
  t.same(dns('hostNetwork: true\ndnsPolicy: ClusterFirstWithHostNet'), inCluster);
  t.same(dns('dnsPolicy: None\ndnsConfig: {nameservers: [1.1.1.1]}'), { servers: ['1.1.1.1'], searches: [], options: [] });
  t.same(
    dns('dnsPolicy: Default\ndnsConfig: {nameservers: [192.0.2.53, a, b, c], searches: [example.test, x], options: [{name: timeout, value: "9"}, {name: rotate}]}'),
    { servers: ['192.0.2.53', 'a', 'b'], searches: ['example.test', 'x'], options: ['timeout:9', 'rotate'] },
  );
});

await t.test('fingerprints', async (t) => {
  const a = manifest(MINIMAL).pod;
  const b = manifest('containers: [{image: b, name: a}]').pod;
  t.equal(sandboxHash(a), sandboxHash(b));
  t.match(sandboxHash(a), /^[0-9a-f]{8}$/);
  t.not(sandboxHash(a), sandboxHash(manifest(`hostname: h\n${MINIMAL}`).pod));
  t.equal(sandboxHash(a), sandboxHash(manifest('containers: [{name: a, image: other}]').pod), "a container's image is not the sandbox's");
  t.equal(containerHash(firstContainer(manifest(MINIMAL))), containerHash(firstContainer(manifest('containers: [{image: b, name: a}]'))));
  t.not(containerHash(firstContainer(manifest(MINIMAL))), containerHash(firstContainer(manifest('containers: [{name: a, image: b, args: [x]}]'))));
});
