import type { TestNode } from '../../harness/node.js';
import { CALL, TestPod } from '../../harness/pods.js';
import type { Scenario } from '../scenario.js';
import { LASTING } from './configs.js';

/** So long must a shim be silent before it counts as hung, and somewhat more. */
const HUNG_MS = 60_000;

/** Pods whose shims are stopped, as by SIGSTOP. */
async function hungPods(node: TestNode, count: number): Promise<TestPod[]> {
  const pods = await Promise.all(Array.from({ length: count }, () => TestPod.run(node)));
  await Promise.all(pods.map((pod) => pod.start({ command: LASTING })));
  const { processes } = await node.state();
  for (const { id } of pods) {
    const shim = processes.find((line) => line.includes('containerd-shim') && line.includes(id));
    process.kill(Number.parseInt(shim ?? '', 10), 'SIGSTOP');
  }
  return pods;
}

export const hungShimScenarios: readonly Scenario[] = [
  {
    name: 'StopPodSandbox with a shim that hangs',
    places: ['StopPodSandbox/end a shim that hangs'],
    provides: ['a hung shim'],
    patienceMs: HUNG_MS,
    slow: true,
    async prepare(node, count) {
      const pods = await hungPods(node, count);
      return { calls: pods.map((pod) => ({ call: () => pod.stop(), again: () => pod.stop() })) };
    },
  },
  {
    name: 'RemovePodSandbox with a shim that hangs',
    places: ['RemovePodSandbox/end a shim that hangs'],
    provides: ['a hung shim'],
    patienceMs: HUNG_MS,
    slow: true,
    async prepare(node, count) {
      const pods = await hungPods(node, count);
      const remove = ({ id }: TestPod) => node.cri.runtime.removePodSandbox({ podSandboxId: id }, CALL);
      return { calls: pods.map((pod) => ({ call: () => remove(pod), again: () => remove(pod) })) };
    },
  },
];
