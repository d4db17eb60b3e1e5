import { pod, shell, STAY } from './manifest.js';
import { containerOf } from './pod-status.js';
import type { Topic } from './side-by-side.js';

const shared = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] };
const volumes = [{ name: 'shared', emptyDir: {} }];

/** They run one after another before the others; one that fails holds up the pod, for ever where nothing is restarted. */
export const initContainers: Topic = async (t, side) => {
  await side.apply(
    pod('init-order', {
      initContainers: [
        shell('first', 'sleep 1; echo first >>/shared/order', shared),
        shell('second', 'echo second >>/shared/order', shared),
      ],
      containers: [shell('main', `echo main >>/shared/order; cat /shared/order; ${STAY}`, shared)],
      volumes,
    }),
    pod('init-fails', {
      restartPolicy: 'Never',
      initContainers: [shell('bad', 'echo no luck >/dev/termination-log; exit 3'), shell('never', 'exit 0')],
      containers: [shell('main', STAY)],
    }),
    pod('init-second-try', {
      initContainers: [shell('tries', 'test -e /shared/tried || { touch /shared/tried; exit 4; }', shared)],
      containers: [shell('main', STAY)],
      volumes,
    }),
  );

  const ordered = await side.ready('init-order');
  t.same(await side.lines('init-order', 'main', 3), ['first', 'second', 'main']);
  t.match(containerOf(ordered, 'first').state, { terminated: { exitCode: 0, reason: 'Completed' } });
  side.tell('pods/init-order', ordered.status);

  const failed = await side.ended('init-fails');
  t.equal(failed.status.phase, 'Failed');
  t.match(containerOf(failed, 'bad').state, { terminated: { exitCode: 3, reason: 'Error', message: 'no luck\n' } });
  t.match(containerOf(failed, 'never').state, { waiting: { reason: 'PodInitializing' } });
  side.tell('pods/init-fails', failed.status);

  const again = await side.ready('init-second-try');
  t.match(containerOf(again, 'tries'), { restartCount: 1, state: { terminated: { exitCode: 0 } } });
  side.tell('pods/init-second-try', again.status);
};
