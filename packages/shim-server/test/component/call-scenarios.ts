import { setTimeout as pause } from 'node:timers/promises';
import type { CriCallOptions } from '@criquet/cri-api';
import type { FakeProcess } from '@criquet/runtime-containerd/testing';
import { CALL_STEPS, type Call, type StepOf } from '../../src/steps/registry.js';
import { IMAGE, type Shim } from './shim-harness.js';

const SIGKILL = 9;
const RUNNING = 1;
const PULLED = 'registry.test/pulled:1';

/** Makes what a call is about. @returns the call, which may be made again when it failed or its daemon died */
type CallScenario = (shim: Shim) => Promise<(options?: CriCallOptions) => Promise<unknown>>;

async function running(shim: Shim): Promise<{ pod: string; containerId: string }> {
  const pod = await shim.runPod();
  return { pod, containerId: await shim.startContainer(pod) };
}

/** All but those about checkpoints and streams, which have tests of their own, and what criquet does by itself. */
export type ScenarioCall = Exclude<
  Call,
  'PauseStart' | 'Exec' | 'CheckpointContainer' | 'CheckpointPod' | 'RestorePod' | 'ContainerExit' | 'Recovery' | 'OwedTeardown' | 'OwedContainerRemoval'
>;

export const CALL_SCENARIOS: Readonly<Record<ScenarioCall, CallScenario>> = {
  RunPodSandbox: (shim) => Promise.resolve((options) => shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig() }, options)),
  CreateContainer: async (shim) => {
    const pod = await shim.runPod();
    const config = shim.containerConfig({ mounts: [{ containerPath: '/image', readonly: true, image: { image: IMAGE } }] });
    return (options) => shim.cri.runtime.createContainer({ podSandboxId: pod, config, sandboxConfig: shim.sandboxConfig() }, options);
  },
  StartContainer: async (shim) => {
    const containerId = await shim.createContainer(await shim.runPod());
    return (options) => shim.cri.runtime.startContainer({ containerId }, options);
  },
  StopContainer: async (shim) => {
    shim.run(endingOnlyWhenKilled);
    const { containerId } = await running(shim);
    return (options) => shim.cri.runtime.stopContainer({ containerId, timeout: 1n }, options);
  },
  RemoveContainer: async (shim) => {
    const { containerId } = await running(shim);
    return (options) => shim.cri.runtime.removeContainer({ containerId }, options);
  },
  StopPodSandbox: async (shim) => {
    const { pod } = await running(shim);
    return (options) => shim.cri.runtime.stopPodSandbox({ podSandboxId: pod }, options);
  },
  RemovePodSandbox: async (shim) => {
    const { pod } = await running(shim);
    return (options) => shim.cri.runtime.removePodSandbox({ podSandboxId: pod }, options);
  },
  PullImage: (shim) => {
    shim.containerd.registry.set(PULLED, { image: shim.image });
    return Promise.resolve((options) => shim.cri.image.pullImage({ image: { image: PULLED } }, options));
  },
  ExecSync: async (shim) => {
    const { containerId } = await running(shim);
    shim.run((process) => process.exit(0));
    return (options) => shim.cri.runtime.execSync({ containerId, cmd: ['true'], timeout: 10n }, options);
  },
  UpdateContainerResources: async (shim) => {
    const { containerId } = await running(shim);
    const linux = { cpuShares: 512n };
    return (options) => shim.cri.runtime.updateContainerResources({ containerId, linux }, options);
  },
};

/** Steps that only a checkpoint brings about. */
const OF_CHECKPOINTS: ReadonlySet<string> = new Set(['read the checkpoint', 'bring back the checkpoint']);
/** What a call comes to only when it has failed. */
const AFTER_FAILURES: ReadonlySet<string> = new Set(['record the start error']);

/** The steps of a call that its scenario comes through when nothing fails. */
export function stepsOf(call: ScenarioCall): StepOf<ScenarioCall>[] {
  const steps: readonly StepOf<ScenarioCall>[] = CALL_STEPS[call].steps;
  return steps.filter((step) => !OF_CHECKPOINTS.has(step) && !AFTER_FAILURES.has(step));
}

export const scenarioCalls = Object.keys(CALL_SCENARIOS) as ScenarioCall[];

/** A call that will never be answered. */
export function lost(call: Promise<unknown>): void {
  call.catch(() => undefined);
}

/** One whose start the daemon did not survive can be started, or runs. */
export async function expectStarted(t: { equal(found: unknown, wanted: unknown): void }, shim: Shim): Promise<void> {
  const [container] = (await shim.cri.runtime.listContainers({})).containers;
  const containerId = container?.id ?? '';
  if (container?.state !== RUNNING) await shim.cri.runtime.startContainer({ containerId });
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, RUNNING);
}

/** Stops and removes every pod. @returns what is left */
export async function endEverything(shim: Shim): Promise<string[]> {
  for (const { id: podSandboxId } of (await shim.cri.runtime.listPodSandbox({})).items) {
    await shim.cri.runtime.stopPodSandbox({ podSandboxId });
    await shim.cri.runtime.removePodSandbox({ podSandboxId });
  }
  // What a killed daemon has left beside its records goes behind the start of the next one.
  for (const late = Date.now() + 5_000; ; await pause(20)) {
    const left = await shim.leftovers();
    if (left.length === 0 || Date.now() > late) return left;
  }
}

function endingOnlyWhenKilled(process: FakeProcess): void {
  process.onSignal((signal) => {
    if (signal === SIGKILL) process.exit(128 + SIGKILL);
  });
}
