import { eventually } from '../harness/eventually.js';
import { pod, shell, STAY } from './manifest.js';
import { identity, parseMetrics, type Series } from './prometheus.js';
import { sideBySide, type Topic } from './side-by-side.js';
import type { Side } from './side.js';

const fields = { volumeStatsAggPeriod: '2s' };
const BUSY = 'echo started; mkdir /written; head -c 300000 /dev/zero >/written/file; while :; do sleep 0.05; done';
const LIMITS = { requests: { cpu: '50m', memory: '16Mi' }, limits: { cpu: '200m', memory: '64Mi' } };

/** Every container of the pods below, by pod. */
const CONTAINERS: Readonly<Record<string, readonly string[]>> = { limited: ['one', 'two'], 'on-the-node': ['main'] };

/** What is told of a pod's use: by cAdvisor in the kubelet, which reads containerd, by the kubelet's own summaries, and by the runtime. */
const figures: Topic = async (t, side) => {
  await side.apply(
    pod('limited', { containers: [shell('one', BUSY, { resources: LIMITS }), shell('two', STAY, { resources: LIMITS })] }, { labels: { app: 'limited' } }),
    pod('on-the-node', { hostNetwork: true, containers: [shell('main', BUSY)] }),
  );
  for (const name of Object.keys(CONTAINERS)) await side.ready(name);

  const byCadvisor = await complete(side, Object.keys(CONTAINERS));
  side.tell('cadvisor', rows(byCadvisor));
  for (const container of ['one', 'two']) {
    const memory = value(byCadvisor, 'container_memory_working_set_bytes', container);
    t.ok(memory > 50_000 && memory < 64 * 2 ** 20, `memory of ${container}: ${memory}`);
    t.equal(value(byCadvisor, 'container_spec_memory_limit_bytes', container), 64 * 2 ** 20);
  }
  t.ok(value(byCadvisor, 'container_cpu_usage_seconds_total', 'one') > 0);

  side.tell('resource', rows(ofOurs(parseMetrics((await side.kubelet.get('/metrics/resource')).body.toString()), side)));
  const summary = await side.kubelet.json<Summary>('/stats/summary');
  for (const { podRef, ...stats } of summary.pods) side.tell(`summary/${podRef.name}`, { ...shapeOf(stats), containers: undefined, ...shapes(stats.containers) });

  await side.kubelet.stop();
  await side.kubelet.start({ ...fields, featureGates: { PodAndContainerStatsFromCRI: true } });
  if (side.runtime === 'criquet') {
    const byRuntime = await complete(side, ['limited']);
    const ofContainers = (all: readonly Series[]) => new Set(all.filter((row) => row.labels.container !== '').map(({ name }) => name));
    const missing = [...ofContainers(byCadvisor)].filter((name) => !ofContainers(byRuntime).has(name));
    // It is -1 without a health check, which CRI's unsigned numbers cannot say.
    t.same(missing, ['container_health_state'], 'every other metric of a container that cAdvisor has');
    const memory = value(byRuntime, 'container_memory_working_set_bytes', 'one');
    t.ok(memory > 50_000 && memory < 64 * 2 ** 20, `memory of one: ${memory}`);
    t.ok(byRuntime.some((row) => row.name === 'container_network_receive_bytes_total' && row.labels.interface === 'eth0' && row.value > 0));
  }
  const fromRuntime = await eventually(async () => {
    const told = await side.kubelet.json<Summary>('/stats/summary');
    if (told.pods.length < 2 || told.pods.some(({ containers, cpu }) => containers === undefined || cpu === undefined)) throw new Error(JSON.stringify(told.pods));
    return told;
  }, 40_000, 1_000);
  for (const { podRef, containers = [] } of fromRuntime.pods) {
    t.same(containers.map(({ name }) => name).sort(), CONTAINERS[podRef.name.replace(`-${side.kubelet.nodeName}`, '')], `containers of ${podRef.name}`);
  }
};

interface Summary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string };
    readonly containers?: readonly { readonly name: string }[];
    readonly cpu?: unknown;
  }[];
}

/** The container metrics of our pods, when each cgroup has been looked at, and the network of the pods `networks`. */
function complete(side: Side, networks: readonly string[]): Promise<Series[]> {
  const wanted = ['container_memory_working_set_bytes', 'container_cpu_usage_seconds_total', 'container_start_time_seconds', 'container_processes'];
  return eventually(async () => {
    const all = parseMetrics((await side.kubelet.get('/metrics/cadvisor')).body.toString());
    const ours = ofOurs(all, side).filter(({ name }) => name.startsWith('container_'));
    for (const [pod, containers] of Object.entries(CONTAINERS)) {
      for (const container of containers) {
        for (const name of wanted) {
          const there = ours.some((row) => row.name === name && row.labels.container === container && row.labels.pod === side.fullName(pod));
          if (!there) throw new Error(`${side.label}: no ${name} of ${container} in ${pod} yet`);
        }
      }
    }
    const cgroupsWith = (name: string): Set<string | undefined> => new Set(ours.filter((row) => row.name === name).map(({ labels }) => labels.id));
    const used = cgroupsWith('container_cpu_usage_seconds_total');
    for (const id of cgroupsWith('container_spec_cpu_shares')) if (!used.has(id)) throw new Error(`${side.label}: no CPU time of ${id} yet`);
    for (const pod of networks) {
      const there = ours.some((row) => row.name === 'container_network_receive_bytes_total' && row.labels.pod === side.fullName(pod));
      if (!there) throw new Error(`${side.label}: no figures of the network of ${pod} yet`);
    }
    return ours;
  }, 90_000, 1_000);
}

function ofOurs(all: readonly Series[], side: Side): Series[] {
  const names = Object.keys(CONTAINERS).map((name) => side.fullName(name));
  return all.filter(({ labels }) => names.includes(labels.pod ?? ''));
}

/** Which series there are. Those of a disk depend on what the page cache holds, and the node's other links on who has looked when. */
function rows(all: readonly Series[]): Record<string, true> {
  const named = all.map((row) => (isSandbox(row) ? { ...row, labels: { ...row.labels, image: '<sandbox>' } } : row));
  return Object.fromEntries(named.filter(({ name, labels }) => !/_(blkio_device_usage|fs_(reads|writes)(_bytes|_merged)?)_total$/.test(name) && (labels.interface ?? 'eth0') === 'eth0').map((row) => [identity(row), true]));
}

/** Of a pod's pause process: criquet's is built in and has no image. */
function isSandbox({ labels }: Series): boolean {
  return labels.container === '' && labels.name !== undefined && labels.name !== '';
}

function value(all: readonly Series[], name: string, container: string): number {
  return all.find((row) => row.name === name && row.labels.container === container)?.value ?? Number.NaN;
}

/** What figures there are: a number stands as its kind. */
function shapeOf(stats: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(stats).map(([key, value]: [string, unknown]) => [
      key,
      typeof value === 'number' ? '<number>' : typeof value === 'object' && value !== null && !Array.isArray(value) ? shapeOf(value) : Array.isArray(value) ? value.length : value,
    ]),
  );
}

function shapes(containers: readonly { readonly name: string }[] = []): Record<string, unknown> {
  return Object.fromEntries(containers.map((container) => [`container ${container.name}`, shapeOf(container)]));
}

await sideBySide(
  { figures },
  {
    fields,
    known: [
      { at: /^summary\/.*\.psi\./, why: 'the plugin tells no pressure on cgroup v1, criquet where the kernel does', sometimes: true },
      {
        at: /^(summary\/on-the-node-node container main\.(memory\.availableBytes|swap\.swapAvailableBytes)|resource container_swap_limit_bytes\{container="main")/,
        why: 'without a limit the plugin says that 0 bytes are available, criquet says nothing',
        sometimes: true,
      },
      { at: /^summary\/on-the-node-node network\.interfaces$/, why: "of the node's links each kubelet sees those of its first look", sometimes: true },
      { at: /^summary\/.*(process_stats|usageNanoCores)/, why: 'they need two looks of cAdvisor, which each kubelet takes at its own times', sometimes: true },
    ],
  },
);
