import assert from 'node:assert/strict';
import { eventually } from '../../harness/eventually.js';
import { FOR_EVER, pod, script } from './objects.js';
import type { Scene } from './scene.js';

/** What `kubectl top` is made of: a node's and its pods' CPU and memory, by way of the API server. */
export async function resourceMetrics({ kubectl, node }: Scene): Promise<void> {
  await kubectl.apply(
    pod('busy', script('while :; do :; done', { resources: { limits: { cpu: '100m' } } }), { nodeName: node.room.name }),
    pod('idle', script(FOR_EVER), { nodeName: node.room.name }),
  );
  await kubectl.wait('condition=Ready', 'pod/busy');
  await kubectl.wait('condition=Ready', 'pod/idle');
  await eventually(async () => {
    const text = await kubectl.run('get', '--raw', `/api/v1/nodes/${node.room.name}/proxy/metrics/resource`);
    const figure = (pattern: string) => Number(new RegExp(`^${pattern} (\\S+)`, 'm').exec(text)?.[1] ?? Number.NaN);
    const labels = (name: string) => `\\{container="main",namespace="${kubectl.namespace}",pod="${name}"\\}`;
    assert.ok(figure('node_cpu_usage_seconds_total') > 0);
    assert.ok(figure('node_memory_working_set_bytes') > 0);
    for (const name of ['busy', 'idle']) {
      assert.ok(figure(`container_memory_working_set_bytes${labels(name)}`) > 0, name);
      assert.ok(figure(`container_start_time_seconds${labels(name)}`) > Date.now() / 1000 - 3600, name);
    }
    assert.ok(figure(`container_cpu_usage_seconds_total${labels('busy')}`) > figure(`container_cpu_usage_seconds_total${labels('idle')}`));
    assert.ok(figure(`pod_memory_working_set_bytes\\{namespace="${kubectl.namespace}",pod="busy"\\}`) > 0);
  }, 60_000, 1_000);
}
