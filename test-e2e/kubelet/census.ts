import { ContainerState, PodSandboxState } from '@criquet/cri-api';
import { audit, named } from '../harness/audit.js';
import { eventually } from '../harness/eventually.js';
import { reservedAddresses } from '../harness/pod-network.js';
import type { Test } from './side-by-side.js';
import type { Side } from './side.js';

const POD_UID = 'io.kubernetes.pod.uid';

/**
 * What of a node's pods there is twice, or without the other half of it: ready sandboxes of one pod, running containers of one name, containers
 * that run in a sandbox which is not ready; tasks of containerd's that CRI does not know as running, and the other way round; addresses that
 * are reserved and no pod's. Empty when all is as it must be.
 */
async function askew(side: Side): Promise<string[]> {
  const { node } = side.machine;
  const [{ items }, { containers }] = await Promise.all([node.cri.runtime.listPodSandbox({}), node.cri.runtime.listContainers({})]);
  const ready = items.filter(({ state }) => state === PodSandboxState.SANDBOX_READY);
  const running = containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  const live = new Set(ready.map(({ id }) => id));
  const tasks = new Set((await node.state()).tasks.map((name) => name.replace(/.*\//, '')));
  const known = [...ready, ...running].map(({ id }) => id);
  return [
    ...twice(ready.map(({ metadata, labels }) => `sandbox of ${metadata?.name} ${labels[POD_UID]}`)),
    ...twice(running.map(({ metadata, labels }) => `container ${metadata?.name} of ${labels[POD_UID]}`)),
    ...running.filter(({ podSandboxId }) => !live.has(podSandboxId)).map(({ id, metadata }) => `container ${metadata?.name} ${id} runs in a sandbox that is not ready`),
    ...known.filter((id) => !tasks.has(id)).map((id) => `${id} runs, and containerd has no task of it`),
    ...[...tasks].filter((id) => !known.includes(id)).map((id) => `containerd has a task ${id} that nobody knows as running`),
    ...(await addresses(side)),
  ];
}

function twice(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))].map((name) => `more than one ${name}`);
}

/** Every reservation is a running pod's, and every running pod has one, but those on the node's network. */
async function addresses(side: Side): Promise<string[]> {
  const { node } = side.machine;
  const reserved = await reservedAddresses(node.network);
  const used = (await side.pods()).filter(({ spec, status }) => status.phase === 'Running' && spec.hostNetwork !== true).map(({ status }) => status.podIP ?? '');
  return [
    ...reserved.filter((address) => !used.includes(address)).map((address) => `${address} is reserved and no pod's`),
    ...used.filter((address) => !reserved.includes(address)).map((address) => `a pod has ${address || 'no address'}, which is not reserved`),
    ...twice(used.map((address) => `pod with ${address}`)),
  ];
}

/** Asserts that nothing of a node's pods is there twice or without its other half, and that `criquet audit` finds nothing without an owner. */
export async function assertOneOfEach(t: Test, side: Side): Promise<void> {
  const found = await eventually(async () => {
    const differences = await askew(side);
    if (differences.length > 0) throw new Error(differences.join('\n'));
    return differences;
  }).catch((error: unknown) => [String(error)]);
  t.strictSame(found, [], 'one ready sandbox a pod, one container a name, one address a pod');
  if (side.runtime !== 'criquet') return;
  const audited = await audit(side.machine.node);
  t.same({ code: audited.code, orphans: named(audited, 'orphan'), problems: audited.problems }, { code: 0, orphans: [], problems: [] }, 'criquet audit agrees');
}
