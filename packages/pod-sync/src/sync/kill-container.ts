import type { ContainerRecord } from '../status/pod-record.js';
import { ANNOTATION } from '../translate/labels.js';
import { CALL_TIMEOUT_MS, type CriCalls } from './cri-calls.js';
import { parseHook, runHook } from './hooks.js';

/** The API server's default for terminationGracePeriodSeconds. */
const DEFAULT_GRACE_SECONDS = 30;
/** The kubelet never gives less, so that a container after its preStop hook still sees SIGTERM. */
const MIN_GRACE_SECONDS = 2;

/**
 * Stops a container as the kubelet does: its preStop hook first, then StopContainer with what is left of the grace period.
 *
 * @param graceSeconds default: the pod's own, from the container's annotation; 0 kills at once and runs no hook.
 */
export async function killContainer(
  record: Pick<ContainerRecord, 'id' | 'name' | 'state' | 'annotations'>,
  calls: CriCalls,
  graceSeconds?: number,
): Promise<void> {
  const grace = graceSeconds ?? Number(record.annotations[ANNOTATION.terminationGracePeriod] ?? DEFAULT_GRACE_SECONDS);
  const hook = parseHook(record.annotations[ANNOTATION.preStopHandler]);
  let left = grace;
  if (hook !== undefined && grace > 0 && record.state === 'running') {
    const begin = performance.now();
    // A hook that fails does not keep the container alive.
    await runHook(hook, record, calls, grace * 1000).catch(() => calls.signal?.throwIfAborted());
    left = Math.max(MIN_GRACE_SECONDS, grace - Math.round((performance.now() - begin) / 1000));
  }
  const request = { containerId: record.id, timeout: BigInt(left) };
  await calls.runtime('stopContainer', record.name, request, left * 1000 + CALL_TIMEOUT_MS);
}

/**
 * Stops all running containers of a pod: ordinary and init containers together, then sidecars one by one, the last first, because
 * those that started later may need those that started before.
 */
export async function killContainers(records: readonly ContainerRecord[], calls: CriCalls, graceSeconds?: number): Promise<void> {
  const alive = records.filter((record) => record.state === 'running' || record.state === 'unknown');
  const kill = (record: ContainerRecord) => killContainer(record, calls, graceSeconds);
  await settle(alive.filter((record) => record.kind !== 'sidecar').map(kill));
  for (const record of alive.filter((candidate) => candidate.kind === 'sidecar')) await kill(record);
}

/** Waits for all, then fails with the first failure: one container that cannot be stopped does not save the others. */
async function settle(promises: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(promises);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
