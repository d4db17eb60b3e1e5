import { eventually } from '../harness/eventually.js';
import { pod, shell, STAY } from './manifest.js';
import { containerOf } from './pod-status.js';
import type { Topic } from './side-by-side.js';

/** /containerLogs with what `kubectl logs` asks for. */
export const logs: Topic = async (t, side) => {
  await side.apply(
    pod('talks', { restartPolicy: 'Never', containers: [shell('main', 'for i in 1 2 3 4 5; do echo line $i; sleep 0.5; done; echo last words >&2')] }),
    pod('talks-twice', {
      containers: [shell('main', `test -e /shared/once || { touch /shared/once; echo first; exit 1; }; echo second; ${STAY}`, { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] })],
      volumes: [{ name: 'shared', emptyDir: {} }],
    }),
    pod('rotates', { containers: [shell('main', 'i=0; while :; do i=$((i+1)); echo "$i $(head -c 4000 /dev/zero | tr "\\\\0" x)"; sleep 0.02; done')] }),
  );
  const all = 'line 1\nline 2\nline 3\nline 4\nline 5\nlast words\n';
  await side.until('talks', (pod) => containerOf(pod, 'main').containerID !== undefined && containerOf(pod, 'main').state.waiting === undefined);
  t.equal(await side.log('talks', 'main', '?follow=true'), all, 'followed to the end');
  t.equal(await side.log('talks', 'main'), all);
  t.equal(await side.log('talks', 'main', '?tailLines=2'), 'line 5\nlast words\n');
  t.equal(await side.log('talks', 'main', '?limitBytes=9'), all.slice(0, 9));
  t.match(await side.log('talks', 'main', '?timestamps=true&tailLines=1'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\S+ last words\n$/);
  t.equal((await side.log('talks', 'main', '?sinceSeconds=3600')).length, all.length);

  await side.until('talks-twice', (pod) => containerOf(pod, 'main').restartCount === 1 && containerOf(pod, 'main').ready);
  t.equal(await side.log('talks-twice', 'main', '?previous=true'), 'first\n');
  t.same(await side.lines('talks-twice', 'main', 1), ['second']);

  const { metadata } = await side.ready('rotates');
  const files = () => side.machine.room.run('ls', `/var/log/pods/default_${metadata.name}_${metadata.uid}/main`);
  await eventually(async () => {
    if (!/^0\.log\.\d+/m.test(await files())) throw new Error(`the log is not rotated yet: ${await files()}`);
  }, 90_000, 1_000);
  const before = Number((await side.log('rotates', 'main', '?tailLines=1')).split(' ')[0]);
  await eventually(async () => {
    const after = Number((await side.log('rotates', 'main', '?tailLines=1')).split(' ')[0]);
    // A file that was opened this moment is empty.
    if (!(after > before)) throw new Error(`what comes after ${before} is in the new file`);
  });
};
