import { pod, shell, STAY } from './manifest.js';
import { containerOf } from './pod-status.js';
import type { Topic } from './side-by-side.js';

const shared = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] };
const volumes = [{ name: 'shared', emptyDir: {} }];

/** Counts its runs in a volume, which outlives them. */
const RUN = 'runs=$(cat /shared/runs 2>/dev/null || echo 0); runs=$((runs+1)); echo $runs >/shared/runs;';

/** What is started again, when, and what is told of how it ended. */
export const restarts: Topic = async (t, side) => {
  await side.apply(
    pod('on-failure', {
      restartPolicy: 'OnFailure',
      containers: [shell('main', `${RUN} echo run $runs; test $runs -gt 2 || exit $((10+runs))`, shared)],
      volumes,
    }),
    pod('always', { containers: [shell('main', `${RUN} test $runs -lt 2 && exit 0; ${STAY}`, shared)], volumes }),
    pod('crash-loop', { containers: [shell('main', 'exit 9')] }),
    pod('killed', { restartPolicy: 'Never', shareProcessNamespace: true, containers: [shell('main', 'sleep 0.5; kill -KILL $$$$')] }),
    pod('out-of-memory', {
      restartPolicy: 'Never',
      containers: [shell('main', 'tail /dev/zero', { resources: { limits: { memory: '32Mi' } } })],
    }),
    pod('last-words', {
      restartPolicy: 'Never',
      containers: [
        shell('file', 'echo written >/tmp/why; exit 1', { terminationMessagePath: '/tmp/why' }),
        shell('log', 'echo logged; exit 2', { terminationMessagePolicy: 'FallbackToLogsOnError' }),
      ],
    }),
    pod('no-such-command', { restartPolicy: 'Never', containers: [{ ...shell('main', ''), command: ['/no/such/command'] }] }),
    pod('no-such-image', { containers: [{ ...shell('main', STAY), image: 'registry.k8s.io/criquet-e2e/no-such-image:1' }] }),
    pod('rules', {
      restartPolicy: 'Never',
      containers: [
        shell('main', `${RUN} test $runs -gt 1 || exit 42; exit 5`, {
          ...shared,
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
        }),
      ],
      volumes,
    }),
  );

  const failing = await side.ended('on-failure');
  t.equal(failing.status.phase, 'Succeeded');
  t.match(containerOf(failing, 'main'), { restartCount: 2, state: { terminated: { exitCode: 0 } } });
  t.equal(await side.log('on-failure', 'main'), 'run 3\n');
  side.tell('pods/on-failure', failing.status);

  const always = await side.until('always', (pod) => containerOf(pod, 'main').restartCount === 1 && containerOf(pod, 'main').state.running !== undefined);
  t.match(containerOf(always, 'main').lastState, { terminated: { exitCode: 0, reason: 'Completed' } });

  const looping = await side.until('crash-loop', (pod) => containerOf(pod, 'main').state.waiting?.reason === 'CrashLoopBackOff');
  t.match(containerOf(looping, 'main').lastState, { terminated: { exitCode: 9, reason: 'Error' } });
  await side.until('crash-loop', (pod) => containerOf(pod, 'main').restartCount > 1);
  await side.remove('crash-loop');

  const killed = await side.ended('killed');
  t.match(containerOf(killed, 'main').state, { terminated: { exitCode: 137 } });
  side.tell('pods/killed', killed.status);

  const oom = await side.ended('out-of-memory');
  t.match(containerOf(oom, 'main').state, { terminated: { exitCode: 137, reason: 'OOMKilled' } });
  side.tell('pods/out-of-memory', oom.status);

  const words = await side.ended('last-words');
  t.match(containerOf(words, 'file').state, { terminated: { exitCode: 1, message: 'written\n' } });
  t.match(containerOf(words, 'log').state, { terminated: { exitCode: 2, message: 'logged\n' } });
  side.tell('pods/last-words', words.status);

  const unknown = await side.ended('no-such-command');
  t.match(containerOf(unknown, 'main').state, { terminated: { exitCode: 128, reason: 'StartError', message: /no such file or directory/ } });

  const imageless = await side.until('no-such-image', (pod) => containerOf(pod, 'main').state.waiting?.reason === 'ImagePullBackOff');
  t.match(containerOf(imageless, 'main').state.waiting?.message, /not found/);

  const ruled = await side.ended('rules');
  t.match(containerOf(ruled, 'main'), { restartCount: 1, state: { terminated: { exitCode: 5 } } });
  side.tell('pods/rules', ruled.status);
};
