import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pod, shell, STAY } from './manifest.js';
import type { Topic } from './side-by-side.js';

const cgroupV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');

/** Files that say what a container may use, below its cgroup. */
const LIMITS = cgroupV2
  ? ['cpu.max', 'cpu.weight', 'memory.max', 'pids.max']
  : ['cpu/cpu.shares', 'cpu/cpu.cfs_quota_us', 'cpu/cpu.cfs_period_us', 'memory/memory.limit_in_bytes', 'pids/pids.max'];

const SHOW = `cd /sys/fs/cgroup; for file in ${LIMITS.join(' ')}; do echo $file $(cat $file); done; echo oom_score_adj $(cat /proc/self/oom_score_adj);`;
const SHOWN = LIMITS.length + 1;

/** Requests and limits as the kernel has them, in the container's cgroup and in the pod's. */
export const resources: Topic = async (t, side) => {
  await side.apply(
    pod('guaranteed', { containers: [shell('main', `${SHOW} ${STAY}`, { resources: { limits: { cpu: '250m', memory: '48Mi' } } })] }),
    pod('burstable', {
      containers: [shell('main', `${SHOW} ${STAY}`, { resources: { requests: { cpu: '100m', memory: '16Mi' }, limits: { cpu: '500m' } } })],
    }),
    pod('best-effort', { containers: [shell('main', `${SHOW} ${STAY}`)] }),
    pod('pod-level', { resources: { requests: { cpu: '200m' }, limits: { cpu: '400m', memory: '64Mi' } }, containers: [shell('main', `${SHOW} ${STAY}`), shell('other', STAY)] }),
  );
  const qos = { guaranteed: 'Guaranteed', burstable: 'Burstable', 'best-effort': 'BestEffort', 'pod-level': 'Burstable' };
  for (const [name, expected] of Object.entries(qos)) {
    const ready = await side.ready(name);
    t.equal(ready.status.qosClass, expected);
    side.tell(`pods/${name}`, ready.status);
    side.tell(`pods/${name}/cgroup`, fields(await side.lines(name, 'main', SHOWN)));
    side.tell(`pods/${name}/pod cgroup`, await podLimits(side.machine.node.cgroupParent, ready.metadata.uid));
  }
  const { uid } = (await side.pod('guaranteed')).metadata;
  const expected = cgroupV2
    ? { 'cpu.max': '25000 100000', 'memory.max': String(48 * 2 ** 20) }
    : { 'cpu/cpu.shares': '256', 'cpu/cpu.cfs_quota_us': '25000', 'memory/memory.limit_in_bytes': String(48 * 2 ** 20) };
  t.match(fields(await side.lines('guaranteed', 'main', SHOWN)), expected, "the container's cgroup");
  t.match(await podLimits(side.machine.node.cgroupParent, uid), { ...expected, [cgroupV2 ? 'pids.max' : 'pids/pids.max']: '123' }, "the pod's cgroup");
};

/** Lines of a name and a value. */
function fields(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]));
}

/** The limits of a pod's own cgroup, in whatever hierarchies there are, as the node sees them. */
async function podLimits(cgroupRoot: string, uid: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const file of LIMITS) {
    const [hierarchy, name] = file.includes('/') ? file.split('/') : ['', file];
    const root = join('/sys/fs/cgroup', hierarchy ?? '', cgroupRoot, 'kubepods');
    for (const place of [root, join(root, 'burstable'), join(root, 'besteffort')]) {
      for (const entry of await readdir(place).catch(() => [])) {
        if (entry === `pod${uid}`) found[file] = (await readFile(join(place, entry, name ?? ''), 'utf8').catch(() => 'none')).trim();
      }
    }
  }
  return found;
}
