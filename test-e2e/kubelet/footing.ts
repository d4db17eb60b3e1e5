import { residentBytes } from '../bench/resident-memory.js';
import { parseMetrics } from './prometheus.js';
import type { Side } from './side.js';
import type { Test } from './side-by-side.js';

/** What a kubelet keeps of how long things took, in seconds. Its SLI of pod starts is about pods of an API server only. */
const DURATIONS = ['kubelet_pod_start_duration_seconds', 'kubelet_run_podsandbox_duration_seconds'];
const OPERATIONS = ['create_container', 'start_container', 'stop_container', 'exec_sync'];

/** Says how fast each side's pods were and how large its daemons are, beside one another. Nothing of it is asserted: the machine is shared. */
export async function tellFooting(t: Test, sides: readonly Side[]): Promise<void> {
  for (const side of sides) {
    const metrics = parseMetrics((await side.kubelet.get('/metrics')).body.toString());
    const mean = (name: string, operation?: string): string => {
      const of = (suffix: string): number =>
        metrics.filter((row) => row.name === `${name}_${suffix}` && row.labels.operation_type === operation).reduce((sum, { value }) => sum + value, 0);
      return of('count') === 0 ? '-' : `${((1000 * of('sum')) / of('count')).toFixed(0)} ms`;
    };
    const durations = DURATIONS.map((name) => `${name.replace(/^kubelet_|_duration_seconds$/g, '')} ${mean(name)}`);
    const operations = OPERATIONS.map((operation) => `${operation} ${mean('kubelet_runtime_operations_duration_seconds', operation)}`);
    const { containerd, criquet } = side.machine.node;
    const daemons = Object.entries({ containerd: containerd.pid, criquet: criquet?.pid, kubelet: side.kubelet.pid });
    const sizes = await Promise.all(
      daemons.map(async ([name, pid]) => (pid === undefined ? '' : `${name} ${((await residentBytes(pid)) / 2 ** 20).toFixed(0)} MiB`)),
    );
    t.pass(`${side.label}: ${[...durations, ...operations, ...sizes].filter((text) => text !== '').join(', ')}`);
  }
}
