import assert from 'node:assert/strict';
import { eventually } from '../../harness/eventually.js';
import type { Kubectl } from '../../harness/kubernetes/kubectl.js';
import { AGNHOST, deployment, EARLIER_AGNHOST, FOR_EVER, podSpec, script, service, webServer, type List, type Pod } from './objects.js';
import type { Scene } from './scene.js';

/** A Deployment gets a new image, pod by pod, and its former one again. */
export async function rollOutAndBack({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(deployment('web', 2, webServer({ image: EARLIER_AGNHOST })));
  await kubectl.rolledOut('deployment/web');
  assert.deepEqual(await imagesOf(kubectl), [EARLIER_AGNHOST, EARLIER_AGNHOST]);
  await kubectl.run('set', 'image', 'deployment/web', `main=${AGNHOST}`);
  await kubectl.rolledOut('deployment/web');
  await eventually(async () => assert.deepEqual(await imagesOf(kubectl), [AGNHOST, AGNHOST]), 30_000, 500);
  await kubectl.run('rollout', 'undo', 'deployment/web');
  await kubectl.rolledOut('deployment/web');
  await eventually(async () => assert.deepEqual(await imagesOf(kubectl), [EARLIER_AGNHOST, EARLIER_AGNHOST]), 30_000, 500);
}

/** Jobs end as their pods do, also one that a CronJob is the model of. */
export async function jobs({ kubectl }: Scene): Promise<void> {
  const template = (text: string) => ({ spec: { ...podSpec(script(text)), restartPolicy: 'Never' } });
  await kubectl.apply(
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'good' },
      spec: { completions: 3, parallelism: 2, completionMode: 'Indexed', template: template('echo number $JOB_COMPLETION_INDEX') },
    },
    { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'bad' }, spec: { backoffLimit: 0, template: template('echo no >&2; exit 3') } },
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'yearly' },
      spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: { template: template('echo by hand') } } },
    },
  );
  await kubectl.run('create', 'job', 'now', '--from=cronjob/yearly');
  await kubectl.wait('condition=Complete', 'job/good', 90);
  await kubectl.wait('condition=Failed', 'job/bad');
  await kubectl.wait('condition=Complete', 'job/now');
  const said = await kubectl.run('logs', '--selector=batch.kubernetes.io/job-name=good', '--tail=-1');
  assert.deepEqual(said.trim().split('\n').sort(), ['number 0', 'number 1', 'number 2']);
  const { items } = await kubectl.json<List<{ status: { containerStatuses: { state: { terminated?: { exitCode: number; reason: string } } }[] } }>>(
    'get', 'pods', '--selector=batch.kubernetes.io/job-name=bad',
  );
  assert.deepEqual(items.map(({ status }) => status.containerStatuses[0]?.state.terminated?.exitCode), [3]);
  assert.equal(await kubectl.run('logs', 'job/now'), 'by hand\n');
}

/** Pods of a StatefulSet come one after the other, and come again under their names. */
export async function statefulSet({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(service('db', { clusterIP: 'None' }), {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db' },
    spec: {
      serviceName: 'db',
      replicas: 2,
      selector: { matchLabels: { app: 'db' } },
      template: { metadata: { labels: { app: 'db' } }, spec: podSpec(script(`hostname -f; ${FOR_EVER}`)) },
    },
  });
  await kubectl.rolledOut('statefulset/db');
  const uid = async () => (await kubectl.json<Pod>('get', 'pod', 'db-1')).metadata.uid;
  const first = await uid();
  const domain = `db.${kubectl.namespace}.svc.cluster.local`;
  await eventually(async () => assert.equal(await kubectl.run('logs', 'db-1'), `db-1.${domain}\n`), 20_000, 300);
  await kubectl.delete('pod/db-1');
  await eventually(async () => assert.notEqual(await uid(), first), 30_000, 500);
  await kubectl.wait('condition=Ready', 'pod/db-1');
  assert.equal(await kubectl.run('exec', 'db-1', '--', 'hostname'), 'db-1\n');
}

async function imagesOf(kubectl: Kubectl): Promise<(string | undefined)[]> {
  const { items } = await kubectl.json<List<Pod>>('get', 'pods', '--selector=app=web');
  return items.map(({ spec }) => spec.containers[0]?.image);
}
