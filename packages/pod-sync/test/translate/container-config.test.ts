import { NamespaceMode, SecurityProfile_ProfileType, Signal } from '@criquet/cri-api';
import t from 'tap';
import { containerConfig, NonRootError, type ContainerFacts, type ImageUser, type Manifest, type TranslationOptions } from '../../src/index.js';
import { containerEnvironment } from '../../src/translate/environment.js';
import { expand } from '../../src/translate/expand.js';
import { firstContainer, manifest, node } from '../fixtures.js';

const options: TranslationOptions = { node, logRoot: '/var/log/pods', seccompRoot: '/seccomp', cgroupParent: '', clusterDns: undefined };
const root: ImageUser = { uid: 0n, username: '' };

function config(m: Manifest, facts: Partial<ContainerFacts> = {}, opts = options) {
  const container = firstContainer(m);
  return containerConfig(
    m,
    container,
    {
      restartCount: 0,
      imageRef: 'sha256:1',
      imageUser: root,
      environment: containerEnvironment(m, container, ['10.0.0.2'], node),
      mounts: [],
      targetId: undefined,
      ...facts,
    },
    opts,
  );
}

await t.test('identity, labels, annotations, log path', async (t) => {
  const m = manifest(
    `
terminationGracePeriodSeconds: 7
containers:
  - name: web
    image: busybox:1
    workingDir: /w
    stdin: true
    stdinOnce: true
    tty: true
    ports: [{name: http, containerPort: 80, hostPort: 8080, hostIP: 127.0.0.1}]
    lifecycle: {preStop: {exec: {command: [bye]}}, stopSignal: SIGRTMIN+3}`,
    '',
    'uid: u',
  );
  const result = config(m, { restartCount: 3 });
  t.match(result.metadata, { name: 'web', attempt: 3 });
  t.match(result.image, { image: 'sha256:1', userSpecifiedImage: 'busybox:1' });
  t.equal(result.logPath, 'web/3.log');
  t.equal(result.workingDir, '/w');
  t.match(result, { stdin: true, stdinOnce: true, tty: true, stopSignal: Signal.SIGRTMINPLUS3 });
  t.same(result.labels, {
    'io.kubernetes.container.name': 'web',
    'io.kubernetes.pod.name': 'p',
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': 'u',
  });
  const { 'io.kubernetes.container.hash': hash, ...annotations } = result.annotations;
  t.match(hash, /^[0-9a-f]{8}$/);
  t.same(annotations, {
    'io.kubernetes.container.restartCount': '3',
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.pod.terminationGracePeriod': '7',
    'io.kubernetes.container.preStopHandler': '{"exec":{"command":["bye"]}}',
    'io.kubernetes.container.ports': '[{"name":"http","hostPort":8080,"containerPort":80,"protocol":"TCP","hostIP":"127.0.0.1"}]',
    'io.kubernetes.container.type': 'container',
  });
});

await t.test('resources', async (t) => {
  const resources = (spec: string, facts = node) =>
    config(manifest(`containers: [{name: a, image: b${spec === '' ? '' : `, resources: ${spec}`}}]`), {}, { ...options, node: facts }).linux?.resources;
  t.match(resources(''), { cpuShares: 2n, cpuPeriod: 100_000n, cpuQuota: 0n, memoryLimitInBytes: 0n, oomScoreAdj: 1000n, memorySwapLimitInBytes: 0n });
  t.match(resources('{limits: {cpu: "1", memory: 64Mi}}'), {
    cpuShares: 1024n,
    cpuQuota: 100_000n,
    memoryLimitInBytes: 67_108_864n,
    memorySwapLimitInBytes: 67_108_864n,
    oomScoreAdj: -997n,
  });
  t.match(resources('{limits: {cpu: "2"}, requests: {cpu: 250m}}'), { cpuShares: 256n, cpuQuota: 200_000n });
  t.match(resources('{limits: {cpu: 1m}}'), { cpuShares: 2n, cpuQuota: 1000n }, 'the least that the kernel accepts');
  t.match(resources('{requests: {cpu: "1000"}}'), { cpuShares: 262_144n }, 'the most that the kernel accepts');
  t.match(resources('{requests: {memory: 4G}}'), { oomScoreAdj: 500n }, 'half of the memory');
  t.match(resources('{requests: {memory: 1}}'), { oomScoreAdj: 999n }, 'never as a BestEffort container');
  t.match(resources('{requests: {memory: 7999M}}'), { oomScoreAdj: 3n }, 'never as a Guaranteed container');
  t.match(resources('{limits: {memory: 1Gi}}', { ...node, swapLimits: false }), { memorySwapLimitInBytes: 0n });
  t.same(resources('{}', { ...node, cgroupV2: true })?.unified, { 'memory.oom.group': '1' });
  t.match(resources('{limits: {hugepages-2Mi: 4Mi, memory: 1Gi}}')?.hugepageLimits, [{ pageSize: '2MB', limit: 4_194_304n }]);
});

await t.test('quality of service takes every container into account', async (t) => {
  const oom = (second: string) =>
    config(manifest(`containers: [{name: a, image: b, resources: {limits: {cpu: 1, memory: 1Gi}}}, {name: c, image: b${second}}]`)).linux?.resources?.oomScoreAdj;
  t.equal(oom(', resources: {limits: {cpu: 1, memory: 1Gi}}'), -997n);
  t.equal(oom(''), 866n, '1000 - 1000 * 1 GiB / 8 GB');
  t.equal(oom(', resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}'), 866n);
});

await t.test('security context: the container over the pod', async (t) => {
  const m = manifest(`
securityContext: {runAsUser: 1, runAsGroup: 2, fsGroup: 3, supplementalGroups: [4], seccompProfile: {type: RuntimeDefault}}
containers:
  - name: a
    image: b
    securityContext:
      runAsUser: 5
      privileged: true
      readOnlyRootFilesystem: true
      capabilities: {add: [NET_ADMIN], drop: [ALL]}
      seccompProfile: {type: Localhost, localhostProfile: my/profile.json}
      appArmorProfile: {type: Localhost, localhostProfile: mine}
      procMount: Unmasked
      seLinuxOptions: {type: t}`);
  t.match(config(m).linux?.securityContext, {
    runAsUser: { value: 5n },
    runAsGroup: { value: 2n },
    runAsUsername: '',
    supplementalGroups: [3n, 4n],
    privileged: true,
    readonlyRootfs: true,
    noNewPrivs: false,
    capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] },
    seccomp: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: '/seccomp/my/profile.json' },
    apparmor: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: 'mine' },
    selinuxOptions: { type: 't' },
    maskedPaths: [],
    readonlyPaths: [],
  });
});

await t.test('security context: defaults', async (t) => {
  const m = manifest('containers: [{name: a, image: b, securityContext: {allowPrivilegeEscalation: false}}]');
  const context = config(m, { imageUser: { uid: 1000n, username: '' } }).linux?.securityContext;
  t.equal(context?.noNewPrivs, true);
  t.equal(context?.seccomp?.profileType, SecurityProfile_ProfileType.Unconfined, 'no profile: unconfined');
  t.equal(context?.apparmor, undefined);
  t.equal(context?.capabilities, undefined);
  t.match(context?.runAsUser, { value: 1000n }, "the image's user");
  t.ok(context?.maskedPaths.includes('/proc/kcore'));
  t.ok(context?.readonlyPaths.includes('/proc/sys'));
  t.equal(context?.namespaceOptions?.pid, NamespaceMode.CONTAINER);
  const named = config(m, { imageUser: { uid: undefined, username: 'www' } }).linux?.securityContext;
  t.equal(named?.runAsUser, undefined);
  t.equal(named?.runAsUsername, 'www');
});

await t.test('runAsNonRoot', async (t) => {
  const nonRoot = (extra: string, imageUser: ImageUser) => () =>
    config(manifest(`containers: [{name: a, image: b, securityContext: {runAsNonRoot: true${extra}}}]`), { imageUser });
  t.throws(nonRoot(', runAsUser: 0', root), { message: 'container a has runAsNonRoot and runAsUser 0' });
  t.throws(nonRoot('', root), { message: 'container a has runAsNonRoot and its image runs as root' });
  t.throws(nonRoot('', { uid: undefined, username: 'www' }), /its image names the user "www", which may be root/);
  t.throws(nonRoot('', { uid: undefined, username: '' }), NonRootError);
  t.doesNotThrow(nonRoot('', { uid: 5n, username: '' }));
  t.doesNotThrow(nonRoot(', runAsUser: 7', root));
});

await t.test('an ephemeral container joins the process namespace of its target', async (t) => {
  const m = manifest('containers: [{name: a, image: b}]\nephemeralContainers: [{name: e, image: b, targetContainerName: a}]');
  const [ephemeral] = m.pod.spec.ephemeralContainers;
  if (ephemeral === undefined) throw new Error('no ephemeral container');
  const facts = { restartCount: 0, imageRef: 'i', imageUser: root, environment: new Map(), mounts: [], targetId: 'id-of-a' };
  const result = containerConfig(m, ephemeral, facts, options);
  t.match(result.linux?.securityContext?.namespaceOptions, { pid: NamespaceMode.TARGET, targetId: 'id-of-a' });
  t.equal(result.annotations['io.kubernetes.container.type'], 'ephemeral');
  const unknown = containerConfig(m, ephemeral, { ...facts, targetId: undefined }, options);
  t.equal(unknown.linux?.securityContext?.namespaceOptions?.pid, NamespaceMode.CONTAINER);
});

await t.test('a sidecar is an init container to the runtime', async (t) => {
  const m = manifest('initContainers: [{name: s, image: b, restartPolicy: Always}]\ncontainers: [{name: a, image: b}]');
  const [sidecar] = m.pod.spec.initContainers;
  if (sidecar === undefined) throw new Error('no sidecar');
  const facts = { restartCount: 0, imageRef: 'i', imageUser: root, environment: new Map(), mounts: [], targetId: undefined };
  t.equal(containerConfig(m, sidecar, facts, options).annotations['io.kubernetes.container.type'], 'init');
});

await t.test('expansion of $(NAME)', async (t) => {
  const variables = new Map([['A', '1'], ['B', '']]);
  const cases: [string, string][] = [
    ['$(A)', '1'],
    ['x$(A)y$(B)z', 'x1yz'],
    ['$(C)', '$(C)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$A', '$A'],
    ['$(A', '$(A'],
    ['$((i+1))', '$((i+1))'],
    ['100$', '100$'],
    ['$$', '$'],
  ];
  for (const [text, expected] of cases) t.equal(expand(text, variables), expected, text);
});

await t.test('environment', async (t) => {
  const m = manifest(
    `
nodeName: node-x
serviceAccountName: sa
containers:
  - name: a
    image: b
    command: [run, $(GREETING)]
    args: [$(UNKNOWN), $$(GREETING)]
    resources: {limits: {cpu: 1500m}, requests: {memory: 1Mi}}
    envFrom:
      - {prefix: P_, configMapRef: {name: c}}
      - {secretRef: {name: s}}
      - {configMapRef: {name: none, optional: true}}
    env:
      - {name: WHO, value: world}
      - {name: GREETING, value: hello $(WHO) from $(P_where) and $(LATER)}
      - {name: LATER, value: later}
      - {name: from-secret, value: over}
      - {name: KEY, valueFrom: {configMapKeyRef: {name: c, key: where}}}
      - {name: MISSING, valueFrom: {secretKeyRef: {name: s, key: nope, optional: true}}}
      - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
      - {name: LABEL, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app.x/y']"}}}
      - {name: NOTE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['none']"}}}
      - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
      - {name: SA, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
      - {name: IPS, valueFrom: {fieldRef: {fieldPath: status.podIPs}}}
      - {name: HOST, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
      - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
      - {name: CPU_M, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
      - {name: MEM, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1G}}}
      - {name: REQ, valueFrom: {resourceFieldRef: {resource: requests.memory, divisor: 1Ki, containerName: a}}}
      - {name: REQ_CPU, valueFrom: {resourceFieldRef: {resource: requests.cpu}}}
      - {name: DISK, valueFrom: {resourceFieldRef: {resource: limits.ephemeral-storage}}}`,
    `---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {where: here}
binaryData: {bytes: AAEC}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {from-secret: hidden, other: "1"}`,
    'labels: {app.x/y: z}',
  );
  const result = config(m);
  const environment = Object.fromEntries(result.envs.map(({ key, value }) => [key, value.toString()]));
  t.same(environment, {
    P_where: 'here',
    'from-secret': 'over',
    other: '1',
    WHO: 'world',
    GREETING: 'hello world from here and $(LATER)',
    LATER: 'later',
    KEY: 'here',
    NAME: 'p',
    LABEL: 'z',
    NOTE: '',
    NODE: 'node-x',
    SA: 'sa',
    IPS: '10.0.0.2',
    HOST: '192.0.2.10',
    CPU: '2',
    CPU_M: '1500',
    MEM: '8',
    REQ: '1024',
    REQ_CPU: '2',
    DISK: '0',
  });
  t.same(result.command, ['run', 'hello world from here and $(LATER)']);
  t.same(result.args, ['$(UNKNOWN)', '$(GREETING)']);
});
