import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../harness/eventually.js';
import { pod, shell } from './manifest.js';
import type { Topic } from './side-by-side.js';

/** A pod has its grace period to end in, and not more. */
export const termination: Topic = async (t, side) => {
  const kept = join(side.machine.node.directory, 'termination');
  const shared = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] };
  const volumes = [{ name: 'shared', hostPath: { path: kept, type: 'DirectoryOrCreate' } }];
  await side.apply(
    pod('takes-its-time', {
      terminationGracePeriodSeconds: 20,
      containers: [shell('main', 'trap "sleep 2; echo done >/shared/done; exit 0" TERM; touch /shared/up; while :; do sleep 0.1; done', shared)],
      volumes,
    }),
    pod('does-not-listen', {
      terminationGracePeriodSeconds: 3,
      containers: [shell('main', 'trap "" TERM; i=0; while :; do i=$((i+1)); echo $i >/shared/still; sleep 0.2; done', shared)],
      volumes,
    }),
  );
  await side.ready('takes-its-time');
  await side.ready('does-not-listen');
  // A process that has not said yet what it does on TERM is not ended by it: it is the first of its PID namespace.
  await eventually(() => Promise.all(['up', 'still'].map((file) => access(join(kept, file)))), 30_000);

  const removed = async (name: string): Promise<number> => {
    const asked = Date.now();
    await side.remove(name);
    return Date.now() - asked;
  };
  const [patient, stubborn] = await Promise.all([removed('takes-its-time'), removed('does-not-listen')]);
  await eventually(async () => {
    if ((await readFile(join(kept, 'done'), 'utf8')) !== 'done\n') throw new Error('what it did last is not there');
  });
  t.ok(patient >= 2_000 && patient < 18_000, `ended by itself after ${patient} ms`);
  t.ok(stubborn >= 3_000, `killed after ${stubborn} ms, not before its grace period`);
  const still = await readFile(join(kept, 'still'), 'utf8');
  t.equal(await readFile(join(kept, 'still'), 'utf8'), still, 'it writes no more');
};
