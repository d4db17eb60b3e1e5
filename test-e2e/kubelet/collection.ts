import { eventually } from '../harness/eventually.js';
import { BUSYBOX, pod, shell, STAY } from './manifest.js';
import { containerOf } from './pod-status.js';
import { parseMetrics } from './prometheus.js';
import { sideBySide, type Topic } from './side-by-side.js';
import type { Side } from './side.js';

const fields = { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } };
const UNUSED = 'registry.k8s.io/e2e-test-images/busybox:1.37.0-2';

/** What a kubelet takes away by itself: containers that have ended, images that nothing uses; and how it learns that a container has ended. */
const collection: Topic = async (t, side) => {
  await side.apply(
    pod('ends-often', {
      containers: [shell('main', 'runs=$(cat /shared/runs 2>/dev/null || echo 0); runs=$((runs+1)); echo $runs >/shared/runs; test $runs -lt 4 && exit 1; ' + STAY, { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] })],
      volumes: [{ name: 'shared', emptyDir: {} }],
    }),
    pod('uses-once', { restartPolicy: 'Never', containers: [{ ...shell('main', 'exit 0'), image: UNUSED }] }),
  );
  await side.until('ends-often', (pod) => containerOf(pod, 'main').restartCount === 3 && containerOf(pod, 'main').ready);
  await eventually(async () => {
    const attempts = await ended(side, 'ends-often');
    if (attempts.length !== 1 || attempts[0] !== 2) throw new Error(`of the ended containers only the last is kept: ${attempts.join()}`);
  }, 60_000, 500);

  await side.ended('uses-once');
  await side.remove('uses-once');
  t.ok((await images(side)).includes(UNUSED));
  await side.kubelet.stop();
  // The pod is gone; a collection would take its containers.
  for (const { id } of (await side.machine.node.cri.runtime.listPodSandbox({ filter: { state: { state: 1 } } })).items) {
    await side.machine.node.cri.runtime.removePodSandbox({ podSandboxId: id });
  }
  await side.kubelet.start({ ...fields, imageMinimumGCAge: '1ns', imageMaximumGCAge: '1us', featureGates: { EventedPLEG: true } });
  await eventually(async () => {
    if ((await images(side)).includes(UNUSED)) throw new Error('the unused image is still there');
  }, 60_000, 500);
  t.ok((await images(side)).includes(BUSYBOX), 'an image in use stays');
  if (side.runtime === 'containerd') t.ok((await images(side)).includes('registry.k8s.io/pause:3.10'), 'a pinned image stays');
  side.tell('images', (await images(side)).filter((name) => !name.includes('/pause:')));

  // With EventedPLEG a kubelet is told at once.
  await side.apply(pod('told', { restartPolicy: 'Never', containers: [shell('main', 'exit 3')] }));
  const told = await side.ended('told');
  t.match(containerOf(told, 'main').state, { terminated: { exitCode: 3, reason: 'Error' } });
  side.tell('pods/told', told.status);
  const metrics = parseMetrics((await side.kubelet.get('/metrics')).body.toString());
  const metric = (name: string): number => metrics.find((row) => row.name === name)?.value ?? 0;
  t.equal(metric('kubelet_evented_pleg_connection_success_count'), 1, 'events are listened to');
  t.equal(metric('kubelet_evented_pleg_connection_error_count'), 0);
  t.ok(metric('kubelet_evented_pleg_connection_latency_seconds_count') >= 3, 'created, started, stopped');
};

/** Attempts of the ended containers of a pod, from CRI. */
async function ended(side: Side, name: string): Promise<number[]> {
  const { containers } = await side.machine.node.cri.runtime.listContainers({ filter: { labelSelector: { 'io.kubernetes.pod.name': side.fullName(name) }, state: { state: 2 } } });
  return containers.map(({ metadata }) => metadata?.attempt ?? 0);
}

async function images(side: Side): Promise<string[]> {
  const { images: all } = await side.machine.node.cri.image.listImages({});
  return all.flatMap(({ repoTags }) => repoTags).sort();
}

await sideBySide({ collection }, { fields, flags: ['--maximum-dead-containers-per-container=1'] });
