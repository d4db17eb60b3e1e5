import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { crunProgram } from '../harness/crun.js';
import { enginesUnderTest } from '../harness/environment.js';
import { Cluster } from '../harness/kubernetes/cluster.js';
import { Site } from '../harness/kubernetes/site.js';
import type { Runtime } from '../harness/node.js';
import { ephemeralContainer, nodeDebugging } from './checks/debug.js';
import { kubeletRestart, runtimeKilled } from './checks/disturbance.js';
import { resourceMetrics } from './checks/figures.js';
import { followAndPrevious, logs } from './checks/logs.js';
import { imageVolume, probes, resizeInPlace, runtimeClass, updatedVolumes, userNamespace } from './checks/pods.js';
import { clusterIpAndNodePort, dns, readiness } from './checks/services.js';
import { attach, attachToTerminalWithoutOne, copy, exec, portForward } from './checks/sessions.js';
import { jobs, rollOutAndBack, statefulSet } from './checks/workloads.js';
import { coreDnsImage } from './coredns-image.js';
import { expectNothingLeft, statesOf } from './nothing-left.js';
import { runChecks, type Checks, type Differences } from './run-checks.js';

/* Every verb of kubectl and every kind of workload, on criquet over each containerd, and on containerd's own plugin as the yardstick. */

const site = await Site.open();
t.teardown(() => site.close());
const image = await coreDnsImage(site.registry);
if (image === undefined) throw new Error("CoreDNS' image is not among the suites' images");
const directory = await mkdtemp(join(site.directory, 'handlers-'));

const checks: Checks = {
  'a Deployment is rolled out and back': rollOutAndBack,
  'Jobs and CronJobs': jobs,
  'ClusterIP and NodePort': clusterIpAndNodePort,
  'CoreDNS and names of Services': (scene) => dns(scene, image),
  'a StatefulSet': statefulSet,
  'probes and readiness gates decide who is behind a Service': readiness,
  'start-up and liveness probes': probes,
  'kubectl logs': logs,
  'kubectl logs: follow and previous': followAndPrevious,
  'kubectl exec': exec,
  'kubectl attach': attach,
  'kubectl attach without a terminal to a container that has one': attachToTerminalWithoutOne,
  'kubectl cp': copy,
  'kubectl port-forward': portForward,
  'kubectl debug: a container in a running pod': ephemeralContainer,
  'kubectl debug: a node': nodeDebugging,
  'figures of nodes and pods': resourceMetrics,
  'limits change while a container runs': resizeInPlace,
  'a pod in a user namespace': userNamespace,
  'an image as a volume': imageVolume,
  'ConfigMaps, Secrets and labels change in a running pod': updatedVolumes,
  'the kubelet starts again': kubeletRestart,
};

const onCriquetOnly: Checks = {
  'RuntimeClass: another handler, and one that does not exist': (scene) => runtimeClass(scene, 'crun'),
  'criquet is killed under load': runtimeKilled,
};

/** What containerd's plugin cannot do. */
const ofThePlugin: Differences = {
  'kubectl attach without a terminal to a container that has one': /tty and stderr cannot both be true/,
};

const extraConfig = `
[runtime.handlers.runc]

[runtime.handlers.crun]
binary_name = ${JSON.stringify(await crunProgram(site.environment, directory))}
`;

async function onOneNode(engine: '2.1' | '2.4', runtime: Runtime): Promise<void> {
  await t.test(`${runtime}, containerd ${engine}`, async (t) => {
    const cluster = await Cluster.start({ site, nodes: [{ engine, runtime, ...(runtime === 'criquet' ? { extraConfig } : {}) }] });
    t.teardown(() => cluster.dispose());
    const before = await statesOf(cluster.nodes);
    if (runtime === 'criquet') await runChecks(t, cluster, { ...checks, ...onCriquetOnly });
    else await runChecks(t, cluster, checks, ofThePlugin);
    await cluster.kubectl.in('kube-system').delete('deployment/coredns', 'service/kube-dns');
    await expectNothingLeft(t, before);
  });
}

const engines = enginesUnderTest(site.environment);
for (const engine of engines) await onOneNode(engine, 'criquet');
const newest = engines.at(-1);
if (newest !== undefined) await onOneNode(newest, 'containerd');
