import { eventually } from '../harness/eventually.js';
import { pod, shell, STAY } from './manifest.js';
import { identity, parseMetrics } from './prometheus.js';
import type { Topic } from './side-by-side.js';

/** /metrics/probes: which probes succeeded. */
export const probeMetrics: Topic = async (t, side) => {
  await side.apply(
    pod('probed', {
      containers: [
        shell('main', STAY, {
          livenessProbe: { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 10 },
          readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 10 },
        }),
      ],
    }),
  );
  await side.ready('probed');
  const rows = await eventually(async () => {
    const all = parseMetrics((await side.kubelet.get('/metrics/probes')).body.toString());
    const ours = all.filter(({ name, labels }) => name === 'prober_probe_total' && labels.pod === side.fullName('probed') && labels.result === 'successful');
    if (ours.length < 2) throw new Error('not probed yet');
    return ours;
  }, 30_000, 500);
  t.same(rows.map(({ labels }) => labels.probe_type).sort(), ['Liveness', 'Readiness']);
  side.tell('probes', Object.fromEntries(rows.map((row) => [identity(row), true])));
};
