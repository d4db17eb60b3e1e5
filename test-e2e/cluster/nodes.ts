import assert from 'node:assert/strict';
import t from 'tap';
import { enginesUnderTest, readEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { Cluster } from '../harness/kubernetes/cluster.js';
import { Site } from '../harness/kubernetes/site.js';
import { resourceMetrics } from './checks/figures.js';
import { deployment, FOR_EVER, pod, podSpec, script, service, webServer } from './checks/objects.js';
import type { Check, Scene } from './checks/scene.js';
import { clientContainer, fetchFrom, podsOf } from './checks/services.js';
import { expectNothingLeft, statesOf } from './nothing-left.js';
import { runChecks } from './run-checks.js';

/* Two nodes, then three, on one machine: each a kubelet, a criquet and a containerd of its own in namespaces of its own. */

await t.test('a cluster of several nodes on criquet', async (t) => {
  const engines = enginesUnderTest(readEnvironment());
  const newest = engines.at(-1) ?? '2.1';
  const site = await Site.open();
  t.teardown(() => site.close());
  const cluster = await Cluster.start({ site, nodes: [{ engine: newest, runtime: 'criquet' }, { engine: engines[0] ?? newest, runtime: 'criquet' }] });
  t.teardown(() => cluster.dispose());
  const before = new Map(await statesOf(cluster.nodes));
  await runChecks(t, cluster, {
    'pods reach one another across nodes by their own addresses': acrossNodes,
    'a Service leads to pods of both nodes': serviceAcrossNodes,
    'figures of the first node': resourceMetrics,
    'figures of the second node': (scene) => resourceMetrics(on(scene, 1)),
    'a node is drained and takes pods again': drain,
  });

  await t.test('a third node joins and goes again', async (t) => {
    const third = await cluster.addNode({ engine: newest, runtime: 'criquet' });
    const { kubectl } = cluster;
    await kubectl.apply(spread(3), pod('client', clientContainer, { nodeName: 'node-0' }));
    await kubectl.rolledOut('deployment/web');
    await kubectl.wait('condition=Ready', 'pod/client');
    const pods = await podsOf(kubectl, 'web');
    t.same(pods.map(({ spec }) => spec.nodeName).sort(), ['node-0', 'node-1', 'node-2'], 'one pod a node');
    for (const { metadata, status } of pods) t.equal(await fetchFrom(kubectl, 'client', `http://${status.podIP}:8080/hostname`), metadata.name);
    await kubectl.run('drain', third.room.name, '--force', '--timeout=60s');
    await cluster.removeNode(third);
    const names = (await kubectl.json<{ items: { metadata: { name: string } }[] }>('get', 'nodes')).items.map(({ metadata }) => metadata.name);
    t.same(names.sort(), ['node-0', 'node-1']);
    await kubectl.delete('deployment/web', 'pod/client');
  });
  await expectNothingLeft(t, before);
});

/** Both directions, with the address that the pod has and not its node's. */
async function acrossNodes({ kubectl }: Scene): Promise<void> {
  for (const index of [0, 1]) await kubectl.apply(pod(`on-${index}`, webServer(), { nodeName: `node-${index}` }));
  const addresses = [];
  for (const index of [0, 1]) {
    await kubectl.wait('condition=Ready', `pod/on-${index}`);
    addresses.push((await podsOf(kubectl, `on-${index}`))[0]?.status.podIP ?? '');
  }
  for (const [from, to] of [[0, 1], [1, 0]] as const) {
    assert.equal(await fetchFrom(kubectl, `on-${from}`, `http://${addresses[to]}:8080/hostname`), `on-${to}`);
    const client = await fetchFrom(kubectl, `on-${from}`, `http://${addresses[to]}:8080/clientip`);
    assert.equal(client.split(':')[0], addresses[from]);
  }
}

/** By its address from each node's pod, and by a port of either node. */
async function serviceAcrossNodes({ kubectl, cluster }: Scene): Promise<void> {
  await kubectl.apply(spread(2), service('web', { type: 'NodePort' }), ...[0, 1].map((index) => pod(`client-${index}`, clientContainer, { nodeName: `node-${index}` })));
  await kubectl.rolledOut('deployment/web');
  const names = (await podsOf(kubectl, 'web')).map(({ metadata }) => metadata.name).sort();
  const { spec } = await kubectl.json<{ spec: { clusterIP: string; ports: { nodePort: number }[] } }>('get', 'service', 'web');
  for (const [index, node] of cluster.nodes.entries()) {
    await kubectl.wait('condition=Ready', `pod/client-${index}`);
    for (const url of [`http://${spec.clusterIP}/hostname`, `http://${node.room.address}:${spec.ports[0]?.nodePort}/hostname`]) {
      const answered = new Set<string>();
      await eventually(async () => {
        answered.add(await fetchFrom(kubectl, `client-${index}`, url));
        assert.deepEqual([...answered].sort(), names);
      }, 60_000, 100);
    }
  }
}

/** Drained, a node keeps the pods of DaemonSets and no others, and gets none until it is uncordoned. */
async function drain({ kubectl, cluster }: Scene): Promise<void> {
  const labels = { app: 'everywhere' };
  await kubectl.apply(deployment('web', 4, webServer()), {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'everywhere' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec(script(FOR_EVER)) } },
  });
  await kubectl.rolledOut('daemonset/everywhere');
  await kubectl.rolledOut('deployment/web');
  const nodesOf = async (app: string) => (await podsOf(kubectl, app)).map(({ spec }) => spec.nodeName).sort();
  assert.deepEqual(await nodesOf('everywhere'), ['node-0', 'node-1']);
  await cluster.kubectl.run('drain', 'node-1', '--ignore-daemonsets', '--force', '--delete-emptydir-data', '--timeout=90s');
  await kubectl.rolledOut('deployment/web');
  assert.deepEqual(await nodesOf('web'), ['node-0', 'node-0', 'node-0', 'node-0']);
  assert.deepEqual(await nodesOf('everywhere'), ['node-0', 'node-1']);
  await cluster.kubectl.run('uncordon', 'node-1');
  await kubectl.apply(pod('back', script(FOR_EVER), { nodeSelector: { 'kubernetes.io/hostname': 'node-1' } }));
  await kubectl.wait('condition=Ready', 'pod/back');
}

/** Web servers, each on another node. */
function spread(replicas: number) {
  return deployment('web', replicas, webServer(), {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'web' } } }],
  });
}

/** The same scene, with another of the cluster's nodes as its node. */
function on(scene: Scene, index: number): Parameters<Check>[0] {
  const node = scene.cluster.nodes[index];
  if (node === undefined) throw new Error(`no node ${index}`);
  return { ...scene, node };
}
