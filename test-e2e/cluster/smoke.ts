import t from 'tap';
import { enginesUnderTest, readEnvironment } from '../harness/environment.js';
import { Cluster } from '../harness/kubernetes/cluster.js';
import { Site } from '../harness/kubernetes/site.js';
import { ephemeralContainer } from './checks/debug.js';
import { runtimeKilled } from './checks/disturbance.js';
import { resourceMetrics } from './checks/figures.js';
import { followAndPrevious } from './checks/logs.js';
import { resizeInPlace } from './checks/pods.js';
import { clusterIpAndNodePort, dns } from './checks/services.js';
import { attachToTerminalWithoutOne, copy, exec, portForward } from './checks/sessions.js';
import { rollOutAndBack } from './checks/workloads.js';
import { coreDnsImage } from './coredns-image.js';
import { expectNothingLeft, statesOf } from './nothing-left.js';
import { runChecks } from './run-checks.js';

/* One node on criquet and the newest containerd: what every run tries. All verbs and engines are in verbs.test.ts. */

await t.test('a cluster of one node on criquet', async (t) => {
  const engine = enginesUnderTest(readEnvironment()).at(-1) ?? '2.1';
  const site = await Site.open();
  t.teardown(() => site.close());
  const started = Date.now();
  const cluster = await Cluster.start({ site, nodes: [{ engine, runtime: 'criquet' }] });
  t.teardown(() => cluster.dispose());
  t.comment(`from nothing to a node that is Ready: ${Date.now() - started} ms`);
  const before = await statesOf(cluster.nodes);
  const image = await coreDnsImage(site.registry);
  await runChecks(t, cluster, {
    'a Deployment is rolled out and back': rollOutAndBack,
    'ClusterIP and NodePort': clusterIpAndNodePort,
    ...(image === undefined ? {} : { 'CoreDNS and names of Services': (scene) => dns(scene, image) }),
    'kubectl logs: follow and previous': followAndPrevious,
    'kubectl exec': exec,
    'kubectl attach without a terminal to a container that has one': attachToTerminalWithoutOne,
    'kubectl cp': copy,
    'kubectl port-forward': portForward,
    'kubectl debug: a container in a running pod': ephemeralContainer,
    'figures of nodes and pods': resourceMetrics,
    'limits change while a container runs': resizeInPlace,
    'criquet is killed under load': runtimeKilled,
  });
  if (image === undefined) await t.test('CoreDNS and names of Services', { skip: "CoreDNS' image is not among the suites' images" }, () => undefined);
  else await cluster.kubectl.in('kube-system').delete('deployment/coredns', 'service/kube-dns');
  await expectNothingLeft(t, before);
});
