import { ContainerState, CriCallError } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import { patience } from '../harness/environment.js';
import type { NodeState } from '../harness/node-state.js';
import type { TestNode } from '../harness/node.js';
import type { Test } from '../harness/on-each-engine.js';
import { CALL, TestPod } from '../harness/pods.js';
import { armStandstill } from './arm.js';
import { describe, type KillPoint } from './places.js';
import type { Scenario } from './scenario.js';
import { onNodeNetwork } from './scenarios/configs.js';
import { awaitStandstill, criquetOf, kill } from './scenarios/dying-daemon.js';
import { Witness } from './witness.js';

/** What follows the restart: the kubelet takes everything away at once, or first makes the same calls again. */
export type Aftermath = 'remove' | 'call again';

export interface Batch {
  readonly scenario: Scenario;
  /** Where its calls stand when the daemon dies; each another call. */
  readonly points: readonly KillPoint[];
  readonly aftermath: Aftermath;
}

const STANDSTILL_MS = 20_000;
const STOP = { timeoutMs: patience(15_000) };
const CLEAN_MS = 15_000;

/**
 * Brings a call of the scenario to each point, kills the daemon with SIGKILL, starts it again, does what a kubelet would, and asserts that
 * the node is as it was before. A container that ended meanwhile tells its true exit code.
 */
export async function runBatch(t: Test, node: TestNode, clean: NodeState, { scenario, points, aftermath }: Batch): Promise<void> {
  const witness = await Witness.start(await TestPod.run(node, onNodeNetwork(node)), 7);
  const { calls, failing = [], check, end } = await scenario.prepare(node, points.length);
  const missing = armStandstill(node, points, failing);
  const ended = calls.map(({ call }) => call().catch(() => undefined));
  await awaitStandstill(missing, scenario.patienceMs ?? STANDSTILL_MS);
  await kill(node);
  await Promise.all(ended);
  await witness.end();
  await criquetOf(node).start();

  await lookAround(node);
  t.match(await witness.container.exit(), { exitCode: witness.exitCode }, 'a container that ended while there was no daemon has its true exit code');
  await check?.(t, points);
  if (aftermath === 'call again') await Promise.all(calls.map(({ again }) => again()));
  await removeEverything(node);
  await end?.();
  t.strictSame(await node.leaksSince(clean, CLEAN_MS), [], `nothing is left: ${points.map(describe).join('; ')}`);
}

/** What a kubelet asks when its runtime is back. No list and no status may fail for what is half made; it may be gone meanwhile. */
async function lookAround({ cri: { runtime } }: TestNode): Promise<void> {
  const [{ items }, { containers }] = await Promise.all([runtime.listPodSandbox({}, CALL), runtime.listContainers({}, CALL)]);
  await Promise.all([
    ...items.map(({ id }) => runtime.podSandboxStatus({ podSandboxId: id }, CALL).catch(ignoreNotFound)),
    ...containers.map(({ id }) => runtime.containerStatus({ containerId: id }, CALL).catch(ignoreNotFound)),
    runtime.listContainerStats({}, CALL),
  ]);
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof CriCallError) || error.code !== status.NOT_FOUND) throw error;
}

/** The shim hangs: with its pod it goes. */
function ignoreLateness(error: unknown): void {
  if (!(error instanceof CriCallError) || error.code !== status.DEADLINE_EXCEEDED) throw error;
}

/** As the kubelet ends pods: each container is stopped, then, whatever came of that, the pod is, then all are removed. */
export async function removeEverything({ cri: { runtime } }: TestNode): Promise<void> {
  const [{ items }, { containers }] = await Promise.all([runtime.listPodSandbox({}, CALL), runtime.listContainers({}, CALL)]);
  await Promise.all(
    containers
      .filter(({ state }) => state === ContainerState.CONTAINER_RUNNING)
      .map(({ id }) => runtime.stopContainer({ containerId: id, timeout: 0n }, STOP).catch(ignoreLateness)),
  );
  await Promise.all(items.map(({ id }) => runtime.stopPodSandbox({ podSandboxId: id }, CALL)));
  await Promise.all(containers.map(({ id }) => runtime.removeContainer({ containerId: id }, CALL)));
  await Promise.all(items.map(({ id }) => runtime.removePodSandbox({ podSandboxId: id }, CALL)));
}
