import assert from 'node:assert/strict';
import { eventually } from '../../harness/eventually.js';
import { pod, podSpec, script, FOR_EVER } from './objects.js';
import type { Scene } from './scene.js';

/** `kubectl logs` from the beginning, from a time or a number of lines, with times, and of several containers. */
export async function logs({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(
    pod('talker', script(`echo first; echo second >&2; sleep 3; echo third; ${FOR_EVER}`), {}),
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'two' }, spec: podSpec({}, { containers: [script(`echo one; ${FOR_EVER}`), script(`echo other; ${FOR_EVER}`, { name: 'other' })] }) },
  );
  await kubectl.wait('condition=Ready', 'pod/talker');
  await eventually(async () => assert.equal(sorted(await kubectl.run('logs', 'talker')), 'first,second,third'), 20_000, 300);
  assert.equal(await kubectl.run('logs', 'talker', '--tail=1'), 'third\n');
  const stamped = (await kubectl.run('logs', 'talker', '--timestamps')).trim().split('\n');
  for (const line of stamped) assert.match(line, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d) (first|second|third)$/);
  const time = stamped.find((line) => line.endsWith('third'))?.split(' ')[0] ?? '';
  assert.equal(await kubectl.run('logs', 'talker', `--since-time=${time}`), 'third\n');
  // Two streams: nobody promises which comes first.
  assert.match(await kubectl.run('logs', 'talker', '--since=1h', '--limit-bytes=5'), /^(first|secon)$/);
  await kubectl.wait('condition=Ready', 'pod/two');
  const everything = async () => sorted(await kubectl.run('logs', 'two', '--all-containers', '--prefix'));
  await eventually(async () => assert.equal(await everything(), '[pod/two/main] one,[pod/two/other] other'), 20_000, 300);
  assert.equal(await kubectl.run('logs', 'two', '--container=other'), 'other\n');
}

/** `kubectl logs --follow` gets what comes until the container ends; `--previous` is the run before. */
export async function followAndPrevious({ kubectl }: Scene): Promise<void> {
  const counting = 'i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo line $i; sleep 0.2; done';
  await kubectl.apply(
    pod('counter', script(counting), { restartPolicy: 'Never' }),
    pod('again', script('if [ -e /data/been ]; then echo second run; ' + FOR_EVER + '; else touch /data/been; echo first run; exit 4; fi', { volumeMounts: [{ name: 'data', mountPath: '/data' }] }), {
      volumes: [{ name: 'data', emptyDir: {} }],
    }),
  );
  await kubectl.wait('jsonpath={.status.containerStatuses[0].state.running}', 'pod/counter');
  const following = kubectl.start('logs', 'counter', '--follow');
  await following.printed('line 2\n');
  const { code, stdout } = await following.exited(30_000);
  assert.equal(code, 0);
  assert.equal(stdout, Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join(''));
  await eventually(async () => assert.equal(await kubectl.run('logs', 'again'), 'second run\n'), 60_000, 500);
  assert.equal(await kubectl.run('logs', 'again', '--previous'), 'first run\n');
}

function sorted(text: string): string {
  return text.trim().split('\n').sort().join(',');
}
