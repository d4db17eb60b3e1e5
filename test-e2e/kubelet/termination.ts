import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
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
      containers: [shell('main', 'trap "sleep 2; echo done >/shared/done; exit 0" TERM; while :; do sleep 0.1; done', shared)],
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

  const removed = async (name: string): Promise<number> => {
    const asked = Date.now();
    await side.remove(name);
    return Date.now() - asked;
  };
  const [patient, stubborn] = await Promise.all([removed('takes-its-time'), removed('does-not-listen')]);
  t.equal(await readFile(join(kept, 'done'), 'utf8'), 'done\n', 'what it did last is there');
  t.ok(patient >= 2_000 && patient < 18_000, `ended by itself after ${patient} ms`);
  t.ok(stubborn >= 3_000, `killed after ${stubborn} ms, not before its grace period`);
  const still = await readFile(join(kept, 'still'), 'utf8');
  t.equal(await readFile(join(kept, 'still'), 'utf8'), still, 'it writes no more');
};
