import t from 'tap';
import { formatProblem, ManifestError, parseManifest } from '../../src/index.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

function problems(text: string): string[] {
  try {
    parseManifest(text, 'f');
  } catch (error) {
    if (error instanceof ManifestError) return error.message.split('\n');
    throw error;
  }
  return [];
}

const pod = (spec: string, metadata = 'name: p') => `apiVersion: v1\nkind: Pod\nmetadata: {${metadata}}\nspec:\n${spec}`;
const container = (rest: string) => pod(`  containers:\n  - name: a\n    image: b\n${rest}`);

await t.test('the example', async (t) => {
  const file = join(import.meta.dirname, '../../../../../examples/hello.yaml');
  const { manifest, warnings } = parseManifest(readFileSync(file, 'utf8'), file);
  t.same(warnings, []);
  t.equal(manifest.pod.metadata.name, 'hello');
  t.same(manifest.pod.spec.initContainers.map((c) => [c.kind, c.name]), [['init', 'write-page'], ['init', 'check-page']]);
  t.same(manifest.pod.spec.containers.map((c) => c.name), ['web', 'ticker']);
  t.equal(manifest.configMaps.get('hello')?.data.greeting?.toString(), 'Hello from a pod without a cluster');
});

await t.test('defaults of the API server', async (t) => {
  const { manifest } = parseManifest(pod('  containers: [{name: a, image: b}]'), 'f');
  const { metadata, spec } = manifest.pod;
  t.match(metadata, { name: 'p', namespace: 'default', labels: {}, annotations: {} });
  t.match(spec, {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    hostNetwork: false,
    shareProcessNamespace: false,
  });
  t.match(spec.containers[0], {
    kind: 'container',
    imagePullPolicy: 'Always',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    stdin: false,
    tty: false,
  });
});

await t.test('uid: the given one, else derived from namespace and name', async (t) => {
  const uid = (metadata: string) => parseManifest(pod('  containers: [{name: a, image: b}]', metadata), 'f').manifest.pod.metadata.uid;
  t.equal(uid('name: p, uid: 11-22'), '11-22');
  t.equal(uid('name: p'), uid('name: p, namespace: default'), 'the same in every run');
  t.not(uid('name: p'), uid('name: p, namespace: other'));
  t.match(uid('name: p'), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

await t.test('image pull policy by tag', async (t) => {
  const policy = (image: string) =>
    parseManifest(pod(`  containers: [{name: a, image: "${image}"}]`), 'f').manifest.pod.spec.containers[0]?.imagePullPolicy;
  t.equal(policy('busybox'), 'Always');
  t.equal(policy('busybox:latest'), 'Always');
  t.equal(policy('localhost:5000/busybox'), 'Always');
  t.equal(policy('localhost:5000/busybox:1'), 'IfNotPresent');
  t.equal(policy('busybox:1.36'), 'IfNotPresent');
  t.equal(policy(`busybox@sha256:${'0'.repeat(64)}`), 'IfNotPresent');
  t.equal(policy(`busybox:latest@sha256:${'0'.repeat(64)}`), 'IfNotPresent');
});

await t.test('JSON is a manifest too', async (t) => {
  const json = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'j' },
    spec: { containers: [{ name: 'a', image: 'b' }] },
  });
  t.equal(parseManifest(json, 'f').manifest.pod.metadata.name, 'j');
});

await t.test('YAML as kubectl reads it: octal modes, times stay text, anchors and merges', async (t) => {
  const text = `${pod('  containers:\n  - &c {name: a, image: b, command: [date, 12:30:45, 2020-01-01]}\n  - {<<: *c, name: d}')}
  volumes: [{name: v, secret: {secretName: s, defaultMode: 0400, optional: true}}]`;
  const { spec } = parseManifest(text, 'f').manifest.pod;
  t.same(spec.containers[1]?.command, ['date', '12:30:45', '2020-01-01']);
  t.match(spec.volumes[0]?.source, { defaultMode: 0o400 });
});

await t.test('ConfigMaps and Secrets of the same file and namespace', async (t) => {
  const { manifest } = parseManifest(
    `${pod('  containers: [{name: a, image: b}]')}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {a: text}
binaryData: {b: AAEC}
---
apiVersion: v1
kind: Secret
metadata: {name: s, labels: {x: y}}
type: Opaque
data: {p: c2VjcmV0}
stringData: {q: plain}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: elsewhere}
---
`,
    'f',
  );
  t.same([...manifest.configMaps.keys()], ['c']);
  t.same(manifest.configMaps.get('c')?.data, { a: Buffer.from('text') });
  t.same(manifest.configMaps.get('c')?.binaryData, { b: Buffer.from([0, 1, 2]) });
  t.equal(manifest.secrets.get('s')?.data.p?.toString(), 'secret');
  t.equal(manifest.secrets.get('s')?.data.q?.toString(), 'plain');
});

await t.test('fields that are left out of account are warnings with their path', async (t) => {
  const { warnings } = parseManifest(
    `${container('    livenessProbe: {}')}
  activeDeadlineSeconds: 3
  imagePullSecrets: [{name: none}]
  nodeSelector: {a: b}
  affinity: {nodeAffinity: {}}
  tolerations: [{operator: Exists}]
  priorityClassName: high
  priority: 3
  enableServiceLinks: true
  serviceAccountName: robot
  serviceAccount: robot
  nodeName: elsewhere
  securityContext: {fsGroupChangePolicy: Always, seLinuxChangePolicy: Recursive}
  volumes: [{name: v, emptyDir: {sizeLimit: 1Mi}}, {name: w, emptyDir: {sizeLimit: 1Mi, medium: Memory}}]
`,
    'f',
  );
  t.same(
    warnings.map((warning) => formatProblem('f', warning)),
    [
      'f:8: spec.containers[0].livenessProbe: is ignored: probes are the work of a kubelet',
      'f:9: spec.activeDeadlineSeconds: is ignored: nothing watches the pod when the command has ended',
      'f:10: spec.imagePullSecrets[0].name: there is no Secret "none" in this file',
      'f:11: spec.nodeSelector: is ignored: there is no scheduler outside a cluster',
      'f:12: spec.affinity: is ignored: there is no scheduler outside a cluster',
      'f:13: spec.tolerations: is ignored: there is no scheduler outside a cluster',
      'f:14: spec.priorityClassName: is ignored: there is no scheduler outside a cluster',
      'f:15: spec.priority: is ignored: there is no scheduler outside a cluster',
      'f:16: spec.enableServiceLinks: is ignored: there are no services outside a cluster',
      'f:17: spec.serviceAccountName: only variables see it: there are no service accounts outside a cluster',
      'f:18: spec.serviceAccount: is ignored: there are no service accounts outside a cluster',
      'f:19: spec.nodeName: only variables see it: the pod runs where its runtime is',
      'f:20: spec.securityContext.fsGroupChangePolicy: is ignored: ownership of volumes is always set',
      'f:20: spec.securityContext.seLinuxChangePolicy: is ignored: the runtime labels volumes',
      'f:21: spec.volumes[0].emptyDir.sizeLimit: is ignored: it is enforced in memory only (medium: Memory)',
    ],
  );
});

await t.test('what asks for nothing, or is only bookkeeping, is no warning', async (t) => {
  const text = `${pod('  containers: [{name: a, image: b}]', 'name: p, creationTimestamp: null, resourceVersion: "1", ownerReferences: []')}
  tolerations: []
  nodeSelector: null
status: {phase: Pending}`;
  t.same(parseManifest(text, 'f').warnings, []);
});

await t.test('what is wrong names line, field path and reason', async (t) => {
  const cases: [name: string, text: string, expected: string | RegExp][] = [
    ['empty file', '', 'f: there is no Pod in this file'],
    ['only a ConfigMap', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}', 'f: there is no Pod in this file'],
    ['bad YAML', 'a: [', /^f:1: /],
    ['not a mapping', '- 1', /expected a mapping, got a list/],
    ['no kind', 'apiVersion: v1', /^f:1: kind: is required/],
    ['other kind', 'apiVersion: v1\nkind: Service', /^f:2: kind: "Service" is not supported/],
    ['list', 'apiVersion: v1\nkind: List', /^f:2: kind: "List" is not supported: write its items/],
    ['other version', 'apiVersion: v2\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b}]}', /^f:1: apiVersion: expected "v1", got "v2"/],
    ['no version', 'kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b}]}', /apiVersion: is required/],
    ['two pods', `${pod('  containers: [{name: a, image: b}]')}\n---\n${pod('  containers: [{name: a, image: b}]')}`, /^f:8: kind: there is another Pod/],
    ['no metadata', 'apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, image: b}]}', /metadata: is required/],
    ['no spec', 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}', /spec: is required/],
    ['no containers', pod('  containers: []'), /^f:5: spec.containers: needs at least one container/],
    ['no image', pod('  containers: [{name: a}]'), /spec.containers\[0\].image: is required/],
    ['image with a blank', pod('  containers: [{name: a, image: " b"}]'), /image: must not begin or end with a space/],
    ['bad name', pod('  containers: [{name: a, image: b}]', 'name: P_'), /metadata.name: expected a name of at most 253/],
    ['bad namespace', pod('  containers: [{name: a, image: b}]', 'name: p, namespace: a.b'), /metadata.namespace: expected a name of at most 63/],
    ['bad uid', pod('  containers: [{name: a, image: b}]', 'name: p, uid: "a/b"'), /metadata.uid: expected letters/],
    ['generateName', pod('  containers: [{name: a, image: b}]', 'generateName: p'), /metadata.generateName: is not supported: give the pod a name/],
    ['label that is a number', pod('  containers: [{name: a, image: b}]', 'name: p, labels: {a.b/c: 1}'), /metadata.labels\["a.b\/c"\]: expected a string, got 1/],
    ['same container name twice', pod('  containers: [{name: a, image: b}, {name: a, image: b}]'), /spec.containers\[1\]: there is another container named "a"/],
    ['unknown field', container('    imag: c'), 'f:8: spec.containers[0].imag: is not a field of this object'],
    ['type of a list', container('    command: sh'), 'f:8: spec.containers[0].command: expected a list, got "sh"'],
    ['type of an element', container('    args: [a, 3]'), /args\[1\]: expected a string, got 3/],
    ['nothing as element', container('    args: [a, null]'), /args\[1\]: expected a string, got nothing/],
    ['type of a flag', container('    tty: "yes"'), /tty: expected true or false, got "yes"/],
    ['unknown choice', container('    imagePullPolicy: Sometimes'), /imagePullPolicy: expected one of "Always", "IfNotPresent", "Never", got "Sometimes"/],
    ['port out of range', container('    ports: [{containerPort: 0}]'), /ports\[0\].containerPort: expected a whole number from 1 to 65535, got 0/],
    ['port missing', container('    ports: [{hostPort: 80}]'), /ports\[0\].containerPort: is required/],
    ['quantity', container('    resources: {limits: {cpu: [1]}}'), /resources.limits.cpu: expected a quantity such as "500m" or "64Mi", got a list/],
    ['negative quantity', container('    resources: {limits: {cpu: "-1"}}'), /limits.cpu: must not be negative/],
    ['request above limit', container('    resources: {limits: {cpu: 1}, requests: {cpu: 2}}'), /resources.requests: cpu asks for 2, more than its limit 1/],
    ['claims', container('    resources: {claims: []}'), /resources.claims: is not supported/],
    ['env value as number, not shown', container('    env: [{name: A, value: 12345}]'), 'f:8: spec.containers[0].env[0].value: expected a string; a number or true/false must be put in quotes'],
    ['env name', container('    env: [{name: "A=B", value: a}]'), /env\[0\].name: expected printable characters other than "="/],
    ['value and valueFrom', container('    env: [{name: A, value: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]'), /env\[0\].valueFrom: cannot stand beside a value/],
    ['two sources', container('    env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}, resourceFieldRef: {resource: limits.cpu}}}]'), /valueFrom: names more than one source/],
    ['field that a variable cannot take', container('    env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.volumes}}}]'), /fieldRef.fieldPath: "spec.volumes" is not a field that a variable can take/],
    ['field version', container('    env: [{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: metadata.name}}}]'), /fieldRef.apiVersion: expected "v1", got "v2"/],
    ['resource that a variable cannot take', container('    env: [{name: A, valueFrom: {resourceFieldRef: {resource: cpu}}}]'), /resourceFieldRef.resource: expected limits.NAME/],
    ['container of a resource', container('    env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, containerName: x}}}]'), /resourceFieldRef.containerName: there is no container "x"/],
    ['unsupported source', container('    env: [{name: A, valueFrom: {fileKeyRef: {}}}]'), 'f:8: spec.containers[0].env[0].valueFrom.fileKeyRef: is not supported: variables from files in a volume are not read'],
    ['no ConfigMap', container('    env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]'), 'f:8: spec.containers[0].env[0].valueFrom.configMapKeyRef.name: there is no ConfigMap "c" of namespace "default" in this file'],
    ['no key', `${container('    env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]')}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}`, /secretKeyRef.key: Secret "s" has no key "k"/],
    ['envFrom without source', container('    envFrom: [{prefix: A_}]'), /envFrom\[0\]: expected either configMapRef or secretRef/],
    ['envFrom without object', container('    envFrom: [{secretRef: {name: s}}]'), /envFrom\[0\].secretRef.name: there is no Secret "s"/],
    ['mount without volume', container('    volumeMounts: [{name: v, mountPath: /a}]'), /volumeMounts\[0\].name: there is no volume "v" in spec.volumes/],
    ['mounts at one place', container('    volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]\n  volumes: [{name: v}]'), /volumeMounts\[1\]: mounts at \/a like volumeMounts\[0\]/],
    ['mount path with a colon', container('    volumeMounts: [{name: v, mountPath: "/a:b"}]\n  volumes: [{name: v}]'), /mountPath: must not contain ":"/],
    ['subPath that climbs out', container('    volumeMounts: [{name: v, mountPath: /a, subPath: ../b}]\n  volumes: [{name: v}]'), /subPath: expected a relative path without "..", got "..\/b"/],
    ['subPath and subPathExpr', container('    volumeMounts: [{name: v, mountPath: /a, subPath: a, subPathExpr: b}]\n  volumes: [{name: v}]'), /subPathExpr: cannot stand beside subPath/],
    ['recursive without readOnly', container('    volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Enabled}]\n  volumes: [{name: v}]'), /recursiveReadOnly: needs readOnly: true/],
    ['two volumes of a name', container('  volumes: [{name: v}, {name: v}]'), /spec.volumes\[1\]: there is another volume named "v"/],
    ['two kinds of volume', container('  volumes: [{name: v, emptyDir: {}, hostPath: {path: /a}}]'), /spec.volumes\[0\]: names more than one kind of volume/],
    ['claim', container('  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]'), /spec.volumes\[0\].persistentVolumeClaim: is not supported: volumes of this kind need a cluster/],
    ['relative hostPath', container('  volumes: [{name: v, hostPath: {path: a}}]'), /hostPath.path: expected an absolute path without "..", got "a"/],
    ['hostPath type', container('  volumes: [{name: v, hostPath: {path: /a, type: Dir}}]'), /hostPath.type: expected one of/],
    ['huge pages', container('  volumes: [{name: v, emptyDir: {medium: HugePages}}]'), /emptyDir.medium: expected one of "", "Memory", got "HugePages"/],
    ['no Secret for a volume', container('  volumes: [{name: v, secret: {secretName: s}}]'), /spec.volumes\[0\].secret.secretName: there is no Secret "s"/],
    ['no key for an item', `${container('  volumes: [{name: v, configMap: {name: c, items: [{key: k, path: k}]}}]')}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}`, /configMap.items\[0\].key: ConfigMap "c" has no key "k"/],
    ['mode', container('  volumes: [{name: v, configMap: {name: c, defaultMode: 0777777}}]'), /configMap.defaultMode: expected a whole number from 0 to 511/],
    ['probe port hook', container('    lifecycle: {preStop: {httpGet: {port: 1}}}'), /lifecycle.preStop.httpGet: is not supported: hooks can be exec or sleep/],
    ['signal', container('    lifecycle: {stopSignal: TERM}'), /stopSignal: expected a signal such as "SIGUSR1", got "TERM"/],
    ['restart policy of a container', container('    restartPolicy: Never'), /spec.containers\[0\].restartPolicy: is not supported/],
    ['user out of range', container('    securityContext: {runAsUser: 2147483648}'), /runAsUser: expected a whole number from 0 to 2147483647, got 2147483648/],
    ['negative user', container('    securityContext: {runAsUser: -1}'), /runAsUser: expected a whole number from 0/],
    ['windows', container('    securityContext: {windowsOptions: {}}'), /windowsOptions: is not supported/],
    ['privileged without escalation', container('    securityContext: {privileged: true, allowPrivilegeEscalation: false}'), /allowPrivilegeEscalation: cannot be false/],
    ['profile without type', container('    securityContext: {seccompProfile: {}}'), /seccompProfile.type: is required/],
    ['localhost without profile', container('    securityContext: {seccompProfile: {type: Localhost}}'), /localhostProfile: is required when/],
    ['profile without localhost', container('    securityContext: {seccompProfile: {type: Unconfined, localhostProfile: a}}'), /localhostProfile: may be set only when/],
    ['user namespace', container('  hostUsers: false'), /spec.hostUsers: is not supported/],
    ['windows pod', container('  os: {name: windows}'), /spec.os.name: is not supported: only Linux/],
    ['host and shared pid', container('  hostPID: true\n  shareProcessNamespace: true'), /shareProcessNamespace: cannot be true together with hostPID/],
    ['dnsPolicy None', container('  dnsPolicy: None'), /spec.dnsConfig: needs nameservers when/],
    ['hostname', container('  hostname: a.b'), /spec.hostname: expected a name of at most 63/],
    ['target of an ephemeral container', container('  ephemeralContainers: [{name: e, image: b, targetContainerName: x}]'), /ephemeralContainers\[0\].targetContainerName: there is no container "x"/],
    ['base64, not shown', `${container('')}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: "not base64!"}`, /^f:13: data.k: expected base64$/],
    ['number in a Secret, not shown', `${container('')}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: 123}`, /^f:13: stringData.k: expected a string; a number/],
    ['key of a ConfigMap', `${container('')}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {"a/b": c}`, /data\["a\/b"\]: a key has at most 253/],
    ['key of data and binaryData', `${container('')}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {k: a}\nbinaryData: {k: AAEC}`, /^f:14: binaryData.k: stands in data too$/],
    ['variable from binaryData', `${container('    env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]')}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nbinaryData: {k: AAEC}`, /configMapKeyRef.key: ConfigMap "c" has no key "k" in data/],
    ['image with a capital', pod('  containers: [{name: a, image: "Nginx:1"}]'), /^f:5: spec.containers\[0\].image: "Nginx:1" is not an image reference: a repository has lower-case letters only$/],
    ['image with a bad tag', pod('  containers: [{name: a, image: "nginx:"}]'), /image: "nginx:" is not an image reference/],
    ['image with a bad digest', pod('  containers: [{name: a, image: "nginx@sha256:12"}]'), /image: "nginx@sha256:12" is not an image reference/],
    ['image with a scheme', pod('  containers: [{name: a, image: "https://r.example/nginx"}]'), /image: "https:\/\/r.example\/nginx" is not an image reference/],
    ['port name', container('    ports: [{name: Http_, containerPort: 80}]'), /ports\[0\].name: expected at most 15 lower-case letters, digits and "-"/],
    ['two ports of a name', container('    ports: [{name: web, containerPort: 80}, {name: web, containerPort: 81}]'), /^f:8: spec.containers\[0\].ports\[1\].name: another port of this container is named "web"$/],
    ['two ports on one host port', `${container('    ports: [{containerPort: 80, hostPort: 8080}]')}\n  - name: c\n    image: b\n    ports: [{containerPort: 81, hostPort: 8080}]`, /^f:11: spec.containers\[1\].ports\[0\].hostPort: TCP 8080 is taken by spec.containers\[0\].ports\[0\]$/],
    ['one port twice in the network of the node', container('    ports: [{containerPort: 80}, {containerPort: 80}]\n  hostNetwork: true'), /ports\[1\].containerPort: TCP 80 is taken by/],
    ['another host port in the network of the node', container('    ports: [{containerPort: 80, hostPort: 81}]\n  hostNetwork: true'), /hostPort: must be the containerPort, 80, as hostNetwork is true/],
    ['host address', container('    ports: [{containerPort: 80, hostIP: localhost}]'), /hostIP: expected an IP address, got "localhost"/],
    ['name too long for a file', pod('  containers: [{name: a, image: b}]', `name: ${'p'.repeat(211)}`), /^f:3: metadata.name: is too long: the log directory <namespace>_<name>_<uid> would have 256 bytes, and a file name has at most 255$/],
    ['element that is nothing', pod('  containers: [null]'), /spec.containers\[0\]: expected a mapping, got nothing/],
    ['alias bomb', `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c]`, /Excessive alias count/],
  ];
  for (const [name, text, expected] of cases) {
    const found = problems(text);
    const hit = found.some((line) => (typeof expected === 'string' ? line === expected : expected.test(line)));
    t.ok(hit, `${name}: ${found.join(' | ')}`);
  }
});

await t.test('what the longest names and valid ports and images may be', async (t) => {
  t.same(problems(pod('  containers: [{name: a, image: b}]', `name: ${'p'.repeat(210)}`)), []);
  t.same(problems(pod('  containers: [{name: a, image: b}]', `name: ${'p'.repeat(216)}, namespace: d`)), []);
  t.same(
    problems(
      `${container('    ports: [{name: dns, containerPort: 53, hostPort: 53}, {name: dns-udp, containerPort: 53, hostPort: 53, protocol: UDP}]')}
  - {name: c, image: b, ports: [{name: dns, containerPort: 53, hostPort: 53, hostIP: "127.0.0.1"}, {containerPort: 80}, {containerPort: 80}]}
  initContainers: [{name: i, image: b, ports: [{containerPort: 1, hostPort: 53}]}]`,
    ),
    [],
  );
  const digest = `sha256:${'0'.repeat(64)}`;
  const images = ['b', 'a/b', 'localhost:5000/b', 'r.example/a__b/c-d.e:V1_x', `b@${digest}`, `[::1]:5000/b:1@${digest}`, 'HOST/b', digest, '0'.repeat(64)];
  for (const image of images) t.same(problems(pod(`  containers: [{name: a, image: "${image}"}]`)), [], image);
});

await t.test('capabilities that Linux does not have are warned of: a runtime may leave them out or refuse them', async (t) => {
  const { warnings } = parseManifest(container('    securityContext: {capabilities: {add: [NET_ADMIN, cap_sys_time, ALL, NET_ADMN], drop: [EVERYTHING]}}'), 'f');
  t.same(
    warnings.map((warning) => formatProblem('f', warning)),
    [
      'f:8: spec.containers[0].securityContext.capabilities.add[3]: Linux has no capability "NET_ADMN"',
      'f:8: spec.containers[0].securityContext.capabilities.drop[0]: Linux has no capability "EVERYTHING"',
    ],
  );
});

await t.test('one problem does not hide another, whatever their kinds', async (t) => {
  const found = problems(
    `${container(`    resources: {limits: {cpu: lots}, requests: {memory: 2Gi}}
    env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]
    volumeMounts: [{name: v, mountPath: /a}, {name: w, mountPath: /a}]
  - text
  - name: c
    image: b
    resources: {limits: {memory: 1}, requests: {memory: 2}}
    volumeMounts: [{name: x, mountPath: /a}]`)}`,
  );
  t.same(found.map((line) => line.replace(/^f:(\d+): spec\.containers/, '$1 ').slice(0, 60)), [
    '8 [0].resources.limits.cpu: expected a quantity such as "500',
    '9 [0].env[0].valueFrom.configMapKeyRef.name: there is no Conf',
    '10 [0].volumeMounts[1]: mounts at /a like volumeMounts[0]',
    '10 [0].volumeMounts[0].name: there is no volume "v" in spec.v',
    '10 [0].volumeMounts[1].name: there is no volume "w" in spec.v',
    '11 [1]: expected a mapping, got "text"',
    '14 [2].resources.requests: memory asks for 2, more than its li',
    '15 [2].volumeMounts[0].name: there is no volume "x" in spec.v',
  ].map((line) => line.slice(0, 60)));
  const unreadable = problems(`${container('    envFrom: [{configMapRef: {name: c}}]')}\n---\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: [}\n`);
  t.ok(unreadable.length > 0);
  t.notOk(unreadable.some((line) => line.includes('there is no ConfigMap')), 'it may stand in the document that cannot be read');
});

await t.test('all problems are found at once, in the order of the text', async (t) => {
  const found = problems(`${pod('  containers:\n  - name: A\n    image: 3\n    tty: 1')}`);
  t.same(found.map((line) => line.split(': ')[1]), ['spec.containers[0].name', 'spec.containers[0].image', 'spec.containers[0].tty']);
});
