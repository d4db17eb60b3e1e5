import assert from 'node:assert/strict';
import { deployment, FOR_EVER, script, webServer } from './objects.js';
import type { Scene } from './scene.js';
import { podsOf } from './services.js';

/** The kubelet starts again: pods go on, and what was asked for meanwhile is done. */
export async function kubeletRestart({ kubectl, node }: Scene): Promise<void> {
  await kubectl.apply(deployment('steady', 3, webServer()));
  await kubectl.rolledOut('deployment/steady');
  const before = await runs(kubectl);
  await node.kubelet.stop();
  await kubectl.run('scale', 'deployment/steady', '--replicas=5');
  await node.kubelet.start();
  await kubectl.rolledOut('deployment/steady');
  expectSameRuns(before, await runs(kubectl));
}

/** The CRI runtime is killed while pods come and go: those that run are not touched, and those that come do come. */
export async function runtimeKilled({ kubectl, node }: Scene): Promise<void> {
  const { criquet } = node.node;
  if (criquet === undefined) throw new Error('only criquet is a process of its own');
  await kubectl.apply(deployment('steady', 3, webServer()), deployment('churn', 2, script(FOR_EVER)));
  await kubectl.rolledOut('deployment/steady');
  await kubectl.rolledOut('deployment/churn');
  const before = await runs(kubectl);
  for (const replicas of [6, 2]) {
    await kubectl.run('scale', 'deployment/churn', `--replicas=${replicas}`);
    await criquet.stop('SIGKILL');
    await criquet.start();
  }
  await kubectl.rolledOut('deployment/churn');
  await kubectl.rolledOut('deployment/steady');
  expectSameRuns(before, await runs(kubectl));
  const churn = await podsOf(kubectl, 'churn');
  assert.equal(churn.flatMap(({ status }) => status.containerStatuses).filter(({ restartCount }) => restartCount > 0).length, 0);
}

type Runs = ReadonlyMap<string, readonly [containerId: string | undefined, restarts: number | undefined]>;

/** Which container each pod of the Deployment `steady` has, and how often it was started again. */
async function runs(kubectl: Scene['kubectl']): Promise<Runs> {
  const pods = await podsOf(kubectl, 'steady');
  return new Map(pods.map(({ metadata, status }) => [metadata.uid, [status.containerStatuses[0]?.containerID, status.containerStatuses[0]?.restartCount]]));
}

function expectSameRuns(before: Runs, after: Runs): void {
  for (const [uid, run] of before) assert.deepEqual(after.get(uid), run);
}
