import { parseArgs } from 'node:util';
import { residentBytes } from '../bench/resident-memory.js';
import { median } from '../bench/statistics.js';
import type { Engine } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { Cluster } from '../harness/kubernetes/cluster.js';
import type { KubernetesNode } from '../harness/kubernetes/kubernetes-node.js';
import { Site } from '../harness/kubernetes/site.js';
import type { Runtime } from '../harness/node.js';
import { BUSYBOX, deployment, FOR_EVER, script } from './checks/objects.js';
import { quantileLimit, readHistogram } from './histogram.js';

const RUNTIMES: readonly Runtime[] = ['criquet', 'containerd'];
const PULL = { timeoutMs: 120_000 };

/** What one node showed. Times in milliseconds, memory in MiB. */
interface Figures {
  readonly 'from nothing to Ready': number;
  readonly 'Deployment rolled out': number;
  /** `kubelet_pod_start_sli_duration_seconds`: from the pod's creation to its running, without pulls. */
  readonly 'pod start, mean': number;
  readonly 'pod start, 50 % below': number;
  readonly 'pod start, 90 % below': number;
  /** containerd, and criquet where it serves. */
  readonly 'daemons, no pod': number;
  readonly 'daemons, all pods': number;
}

const { values } = parseArgs({
  options: { engine: { type: 'string', default: '2.4' }, rounds: { type: 'string', default: '3' }, pods: { type: 'string', default: '20' } },
});
if (values.engine !== '2.1' && values.engine !== '2.4') throw new Error('--engine: 2.1 or 2.4');
const [rounds, pods] = [Number(values.rounds), Number(values.pods)];

const site = await Site.open();
try {
  const cluster = await Cluster.start({ site, nodes: [] });
  try {
    const all = new Map<Runtime, Figures[]>(RUNTIMES.map((runtime) => [runtime, []]));
    for (let round = 0; round < rounds; round++) {
      for (const runtime of round % 2 === 0 ? RUNTIMES : [...RUNTIMES].reverse()) {
        all.get(runtime)?.push(await measure(cluster, values.engine, runtime));
      }
    }
    console.log(table(all));
  } finally {
    await cluster.dispose();
  }
} finally {
  await site.close();
}

async function measure(cluster: Cluster, engine: Engine, runtime: Runtime): Promise<Figures> {
  const { kubectl } = cluster;
  const began = Date.now();
  const node = await cluster.addNode({ engine, runtime, logLevel: 'info' });
  const ready = Date.now() - began;
  try {
    await kubectl.wait('create', 'serviceaccount/default');
    await node.node.cri.image.pullImage({ image: { image: BUSYBOX } }, PULL);
    const idle = await memory(node);
    const rollOut = Date.now();
    await kubectl.apply(deployment('many', pods, script(FOR_EVER), { nodeName: node.room.name }));
    await kubectl.rolledOut('deployment/many');
    const rolled = Date.now() - rollOut;
    const starts = await eventually(async () => {
      const histogram = readHistogram((await node.kubelet.get('/metrics')).body.toString(), 'kubelet_pod_start_sli_duration_seconds');
      if (histogram.count < pods) throw new Error(`${histogram.count} of ${pods} pods counted`);
      return histogram;
    }, 30_000, 500);
    return {
      'from nothing to Ready': ready,
      'Deployment rolled out': rolled,
      'pod start, mean': (starts.sum / starts.count) * 1000,
      'pod start, 50 % below': quantileLimit(starts, 0.5) * 1000,
      'pod start, 90 % below': quantileLimit(starts, 0.9) * 1000,
      'daemons, no pod': idle,
      'daemons, all pods': await memory(node),
    };
  } finally {
    await kubectl.delete('deployment/many');
    await eventually(async () => {
      if ((await kubectl.run('get', 'pods', '--output=name')).trim() !== '') throw new Error('pods are still there');
    }, 90_000, 1_000);
    await cluster.removeNode(node);
  }
}

async function memory({ node }: KubernetesNode): Promise<number> {
  const pids = [node.criquet?.pid, node.containerd.pid].filter((pid) => pid !== undefined);
  const bytes = await Promise.all(pids.map(residentBytes));
  return bytes.reduce((sum, each) => sum + each, 0) / 1024 / 1024;
}

/** Medians, as a table of Markdown. */
function table(all: ReadonlyMap<Runtime, readonly Figures[]>): string {
  const of = (runtime: Runtime, name: keyof Figures) => median((all.get(runtime) ?? []).map((figures) => figures[name]));
  const names = Object.keys(all.get('criquet')?.[0] ?? {}) as (keyof Figures)[];
  const unit = (name: keyof Figures) => (name.startsWith('daemons') ? 'MiB' : 'ms');
  const row = (name: keyof Figures) => `| ${name} (${unit(name)}) | ${of('criquet', name).toFixed(0)} | ${of('containerd', name).toFixed(0)} |`;
  return [`${pods} pods, ${rounds} nodes of each; medians`, '', '| | criquet | containerd\'s plugin |', '|---|---|---|', ...names.map(row)].join('\n');
}
