import { pod, shell, STAY } from './manifest.js';
import { containerOf, isReady } from './pod-status.js';
import type { Topic } from './side-by-side.js';

const shared = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] };
const volumes = [{ name: 'shared', emptyDir: {} }];

/** Init containers that go on beside the others: up before them, started again when they end, and ended after them. */
export const sidecars: Topic = async (t, side) => {
  await side.apply(
    pod('sidecar-of-a-job', {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 5,
      initContainers: [
        shell('proxy', 'trap "echo proxy ends; exit 0" TERM; sleep 1; touch /shared/up; while :; do sleep 0.1; done', {
          ...shared,
          restartPolicy: 'Always',
          startupProbe: { exec: { command: ['test', '-e', '/shared/up'] }, periodSeconds: 1, failureThreshold: 100, timeoutSeconds: 10 },
        }),
        shell('after', 'test -e /shared/up', shared),
      ],
      containers: [shell('job', 'test -e /shared/up && sleep 1; echo job ends', shared)],
      volumes,
    }),
    pod('sidecar-comes-back', {
      initContainers: [shell('proxy', `test -e /shared/once || { touch /shared/once; sleep 1; exit 7; }; ${STAY}`, { ...shared, restartPolicy: 'Always' })],
      containers: [shell('main', STAY)],
      volumes,
    }),
  );

  const job = await side.ended('sidecar-of-a-job');
  t.equal(job.status.phase, 'Succeeded');
  t.match(containerOf(job, 'after').state, { terminated: { exitCode: 0 } });
  t.match(containerOf(job, 'job').state, { terminated: { exitCode: 0 } });
  t.match(containerOf(job, 'proxy'), { restartCount: 0, state: { terminated: { exitCode: 0 } } });
  t.equal(await side.log('sidecar-of-a-job', 'proxy'), 'proxy ends\n');
  const [jobEnd, proxyEnd] = ['job', 'proxy'].map((name) => containerOf(job, name).state.terminated?.finishedAt ?? '');
  t.ok((jobEnd ?? '') <= (proxyEnd ?? ''), `the job ended at ${jobEnd}, its sidecar at ${proxyEnd}`);
  side.tell('pods/sidecar-of-a-job', job.status);

  const back = await side.until('sidecar-comes-back', (pod) => isReady(pod) && containerOf(pod, 'proxy').restartCount === 1 && containerOf(pod, 'proxy').state.running !== undefined);
  t.match(containerOf(back, 'proxy'), { ready: true, lastState: { terminated: { exitCode: 7, reason: 'Error' } } });
  t.equal(containerOf(back, 'main').restartCount, 0);
  side.tell('pods/sidecar-comes-back', back.status);
};
