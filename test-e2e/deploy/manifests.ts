import { dirname, join } from 'node:path';
import t from 'tap';
import { findTool, readEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { ControlPlane } from '../harness/kubernetes/control-plane.js';
import { Site } from '../harness/kubernetes/site.js';
import { tryRun, type RunResult } from '../harness/run.js';

interface PodSpec {
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly hostPID?: boolean;
  readonly tolerations: readonly object[];
  readonly initContainers: readonly { readonly image: string; readonly args: readonly string[]; readonly env?: readonly { name: string }[] }[];
}

interface Applied {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: { readonly updateStrategy: object; readonly template: { readonly spec: PodSpec } };
}

const environment = readEnvironment();
const { checkout } = environment;
const NEEDED = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'];
const found = await Promise.all(NEEDED.map((name) => findTool(environment, name)));

if (found.includes(undefined)) {
  t.plan(0, `not there: ${NEEDED.filter((_, index) => found[index] === undefined).join(', ')}`);
} else {
  const site = await Site.open();
  t.teardown(() => site.close());
  const controlPlane = await ControlPlane.start({ site, nodeNames: ['node-0'] });
  t.teardown(() => controlPlane.stop());
  const { kubectl } = controlPlane;

  await t.test('deploy/daemonset: every object is good, and the API server keeps it as it is written', async (t) => {
    // The namespace must be there for the others to be tried in it.
    await kubectl.run('apply', '--filename', join(checkout, 'deploy/daemonset/namespace.yaml'));
    const output = await kubectl.run('apply', '--dry-run=server', '--validate=strict', '--output=json', '--kustomize', join(checkout, 'deploy/daemonset'));
    const { items } = JSON.parse(output) as { items: Applied[] };
    t.same(items.map(({ kind, metadata }) => `${kind} ${metadata.name.replace(/-[a-z0-9]{10}$/, '-HASH')}`).sort(), [
      'ClusterRole criquet-node',
      'ClusterRoleBinding criquet-node',
      'ConfigMap criquet-node-HASH',
      'DaemonSet criquet-rollback',
      'DaemonSet criquet-switch',
      'Namespace criquet-system',
      'ServiceAccount criquet-node',
    ]);
    const daemonSet = (name: string): Applied => {
      const object = items.find(({ kind, metadata }) => kind === 'DaemonSet' && metadata.name === name);
      if (object === undefined) throw new Error(`no ${name}`);
      return object;
    };
    for (const [name, label, command] of [['criquet-switch', 'criquet', 'switch'], ['criquet-rollback', 'containerd', 'rollback']] as const) {
      const { spec } = daemonSet(name);
      t.match(spec.updateStrategy, { rollingUpdate: { maxUnavailable: 1 } }, 'one node at a time');
      t.match(spec.template.spec, {
        hostPID: true,
        nodeSelector: { 'criquet.dev/runtime': label },
        tolerations: [{ operator: 'Exists' }],
        initContainers: [{ image: 'criquet:dev', args: [command] }],
      });
    }
    // What criquet-pod and node-ready ask their environment for.
    t.same(daemonSet('criquet-switch').spec.template.spec.initContainers[0]?.env?.map(({ name }) => name), ['NODE_NAME', 'POD_NAME', 'POD_NAMESPACE']);
  });

  await t.test('the pods may ask for their node, and for nothing else', async (t) => {
    await kubectl.run('apply', '--filename', join(checkout, 'deploy/daemonset/rbac.yaml'));
    const may = async (...what: string[]): Promise<string> =>
      (await kubectl.attempt(['auth', 'can-i', ...what, '--as=system:serviceaccount:criquet-system:criquet-node'])).stdout.trim();
    t.equal(await may('get', 'nodes/node-0'), 'yes');
    t.equal(await may('update', 'nodes/node-0'), 'no');
    t.equal(await may('list', 'pods'), 'no');
  });

  await t.test('deploy/kind: RuntimeClass and smoke test', async (t) => {
    await kubectl.run('apply', '--validate=strict', '--filename', join(checkout, 'deploy/kind/runtime-class.yaml'));
    await kubectl.run('create', 'namespace', 'criquet-smoke');
    const output = await kubectl.run('apply', '--dry-run=server', '--validate=strict', '--output=name', '--filename', join(checkout, 'deploy/kind/smoke.yaml'));
    t.same(output.trim().split('\n').sort(), ['deployment.apps/web', 'job.batch/ask', 'namespace/criquet-smoke', 'service/web']);
  });

  await t.test('deploy/daemonset/roll asks a real API server for what it goes by', async (t) => {
    const system = kubectl.in('criquet-system');
    const roll = (...words: string[]): Promise<RunResult> =>
      tryRun(join(checkout, 'deploy/daemonset/roll'), words, {
        timeoutMs: 120_000,
        env: { KUBECONFIG: kubectl.kubeconfig, PATH: `${dirname(kubectl.program)}:${process.env.PATH ?? ''}`, NODE_SECONDS: '2' },
      });
    const patch = (target: string, status: object): Promise<string> => system.run('patch', target, '--subresource=status', '--type=merge', '--patch', JSON.stringify({ status }));
    const ready = [{ type: 'Ready', status: 'True' }];
    const node = (): Promise<{ metadata: { annotations?: Record<string, string>; labels: Record<string, string> }; spec: { unschedulable?: boolean } }> => kubectl.json('get', 'node/node-0');
    await kubectl.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-0', labels: { 'kubernetes.io/os': 'linux' } } });
    await patch('node/node-0', { capacity: { pods: '9' }, allocatable: { pods: '9' }, nodeInfo: { containerRuntimeVersion: 'containerd://2.4.2' }, conditions: ready });

    t.match(await roll('switch', 'node-0'), { code: 1, stderr: /apply deploy\/daemonset first/ });
    await kubectl.run('apply', '--kustomize', join(checkout, 'deploy/daemonset'));
    t.match(await roll('switch', 'node-0'), { code: 1, stderr: /node-0 is on containerd:\/\/2\.4\.2 True and stays cordoned/ });
    t.match(await node(), { metadata: { annotations: { 'criquet.dev/cordoned-by': 'roll' }, labels: { 'criquet.dev/runtime': 'criquet' } }, spec: { unschedulable: true } });

    const pod = await eventually(async () => {
      const [name] = (await system.run('get', 'pods', '--selector=app=criquet-switch', '--field-selector=spec.nodeName=node-0', '--output=name')).trim().split('\n');
      if (name === undefined || name === '') throw new Error("the DaemonSet's pod is not there");
      return name;
    });
    await patch(pod, { phase: 'Running', conditions: ready });
    await patch('node/node-0', { nodeInfo: { containerRuntimeVersion: 'criquet://0.1.0' }, conditions: ready });
    const again = await roll('switch', 'node-0');
    t.match(again, { code: 0, stderr: /is on criquet:\/\/0\.1\.0 True already, and is not drained/ });
    const { metadata, spec } = await node();
    t.notOk(spec.unschedulable, 'uncordoned');
    t.equal(metadata.annotations?.['criquet.dev/cordoned-by'], undefined);
  });
}
