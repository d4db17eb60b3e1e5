import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pod, shell, STAY } from './manifest.js';
import { containerOf } from './pod-status.js';
import type { Topic } from './side-by-side.js';

const shared = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] };

/** postStart before a container counts as started, preStop before it is asked to end. */
export const hooks: Topic = async (t, side) => {
  const kept = join(side.machine.node.directory, 'hooks');
  const volumes = [{ name: 'shared', hostPath: { path: kept, type: 'DirectoryOrCreate' } }];
  const append = (word: string) => ({ exec: { command: ['sh', '-c', `echo ${word} >>/shared/order`] } });
  await side.apply(
    pod('hooks', {
      terminationGracePeriodSeconds: 10,
      containers: [
        shell('main', 'trap "echo term >>/shared/order; exit 0" TERM; while :; do sleep 0.1; done', {
          ...shared,
          lifecycle: { postStart: append('post-start'), preStop: append('pre-stop') },
        }),
      ],
      volumes,
    }),
    pod('sleeps-before-stop', {
      terminationGracePeriodSeconds: 10,
      containers: [shell('main', 'trap "echo slept >>/shared/sleeper; exit 0" TERM; while :; do sleep 0.1; done', { ...shared, lifecycle: { preStop: { sleep: { seconds: 2 } } } })],
      volumes,
    }),
    pod('bad-post-start', {
      containers: [
        shell('main', STAY, {
          ...shared,
          lifecycle: { postStart: { exec: { command: ['sh', '-c', 'test -e /shared/second || { touch /shared/second; exit 6; }'] } } },
        }),
      ],
      volumes,
    }),
  );

  const hooked = await side.ready('hooks');
  side.tell('pods/hooks', hooked.status);
  await side.remove('hooks');
  t.equal(await readFile(join(kept, 'order'), 'utf8'), 'post-start\npre-stop\nterm\n');

  await side.ready('sleeps-before-stop');
  const asked = Date.now();
  await side.remove('sleeps-before-stop');
  t.ok(Date.now() - asked >= 2_000, 'two seconds of sleep come first');
  t.equal(await readFile(join(kept, 'sleeper'), 'utf8'), 'slept\n');

  const tried = await side.until('bad-post-start', (pod) => containerOf(pod, 'main').ready && containerOf(pod, 'main').restartCount === 1);
  t.match(containerOf(tried, 'main').lastState, { terminated: { exitCode: 0 } });
  side.tell('pods/bad-post-start', tried.status);
};
