import { NamespaceMode, PodSandboxState, type DeepPartial, type PodSandboxConfig } from '@criquet/cri-api';
import type { TestNode } from '../../harness/node.js';
import { CALL, TestPod } from '../../harness/pods.js';
import { armFailures } from '../arm.js';
import { placesOf } from '../places.js';
import type { DoomedCall, FailingStep, Scenario } from '../scenario.js';
import { LASTING, volumesContainer } from './configs.js';

/** In a user namespace of their own, so that there is one to release. */
const USERNS: DeepPartial<PodSandboxConfig> = {
  linux: {
    securityContext: {
      namespaceOptions: {
        pid: NamespaceMode.CONTAINER,
        usernsOptions: {
          mode: NamespaceMode.POD,
          uids: [{ containerId: 0, hostId: 200_000, length: 65_536 }],
          gids: [{ containerId: 0, hostId: 200_000, length: 65_536 }],
        },
      },
    },
  },
};

function runs(node: TestNode, count: number, change: DeepPartial<PodSandboxConfig> = {}): DoomedCall[] {
  return Array.from({ length: count }, () => {
    const config = TestPod.config(node, change);
    const run = () => node.cri.runtime.runPodSandbox({ config, runtimeHandler: '' }, CALL);
    return {
      call: run,
      again: async () => {
        const { podSandboxId } = await run();
        const { status } = await node.cri.runtime.podSandboxStatus({ podSandboxId }, CALL);
        if (status?.state !== PodSandboxState.SANDBOX_READY) throw new Error(`sandbox ${podSandboxId} is not ready`);
      },
    };
  });
}

/** Everything is there, also in the record. */
const FAILS_AT_THE_END: FailingStep = { place: 'RunPodSandbox/record that it is ready', moment: 'after' };

/** And then none of it can be undone, so that the whole is left to the next call or to owed work. */
const NOT_UNDONE: readonly FailingStep[] = [
  FAILS_AT_THE_END,
  { place: 'RunPodSandbox/undo: remove the pause process' },
];
const NOT_OWED: FailingStep = { place: 'OwedTeardown/remove the pause process' };

async function startedPods(node: TestNode, count: number): Promise<TestPod[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const pod = await TestPod.run(node);
      await pod.start(volumesContainer(LASTING));
      return pod;
    }),
  );
}

export const podScenarios: readonly Scenario[] = [
  {
    name: 'RunPodSandbox',
    places: placesOf('RunPodSandbox', 'steps'),
    provides: ['a pod network'],
    prepare: (node, count) => Promise.resolve({ calls: runs(node, count) }),
  },
  {
    name: 'the start of a pause process',
    places: placesOf('PauseStart', 'steps'),
    provides: ['a pod network'],
    prepare: (node, count) => Promise.resolve({ calls: runs(node, count) }),
  },
  {
    name: 'RunPodSandbox that fails',
    places: placesOf('RunPodSandbox', 'undo'),
    provides: ['a pod network', 'a user namespace'],
    prepare: (node, count) => Promise.resolve({ calls: runs(node, count, USERNS), failing: [FAILS_AT_THE_END] }),
  },
  {
    name: 'RunPodSandbox after one that could not be undone',
    places: placesOf('RunPodSandbox', 'earlier'),
    provides: ['a pod network', 'a sandbox image'],
    async prepare(node, count) {
      const calls = runs(node, count);
      armFailures(node, [...NOT_UNDONE, NOT_OWED]);
      await Promise.all(calls.map(({ call }) => call().catch(() => undefined)));
      return { calls, failing: [NOT_OWED] };
    },
  },
  {
    name: 'the teardown that a failed RunPodSandbox owes',
    places: placesOf('OwedTeardown', 'steps'),
    provides: ['a pod network', 'a sandbox image'],
    prepare: (node, count) => Promise.resolve({ calls: runs(node, count), failing: NOT_UNDONE }),
  },
  {
    name: 'StopPodSandbox',
    places: placesOf('StopPodSandbox', 'steps'),
    provides: ['a pod network'],
    async prepare(node, count) {
      const pods = await startedPods(node, count);
      return { calls: pods.map((pod) => ({ call: () => pod.stop(), again: () => pod.stop() })) };
    },
  },
  {
    name: 'RemovePodSandbox',
    places: placesOf('RemovePodSandbox', 'steps'),
    provides: ['a pod network', 'a sandbox image', 'volumes'],
    async prepare(node, count) {
      const pods = await startedPods(node, count);
      const remove = ({ id }: TestPod) => node.cri.runtime.removePodSandbox({ podSandboxId: id }, CALL);
      return { calls: pods.map((pod) => ({ call: () => remove(pod), again: () => remove(pod) })) };
    },
  },
];
