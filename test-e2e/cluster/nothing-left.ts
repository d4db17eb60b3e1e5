import assert from 'node:assert/strict';
import type { Test } from 'tap';
import { eventually } from '../harness/eventually.js';
import type { KubernetesNode } from '../harness/kubernetes/kubernetes-node.js';
import type { NodeState } from '../harness/node-state.js';
import type { Pod } from './checks/objects.js';

/** What is on the machine of each node, for a later comparison. */
export async function statesOf(nodes: readonly KubernetesNode[]): Promise<ReadonlyMap<KubernetesNode, NodeState>> {
  return new Map(await Promise.all(nodes.map(async (node) => [node, await node.node.state()] as const)));
}

/** Asserts that the pods of nodes, which are deleted by now, have left nothing behind. */
export async function expectNothingLeft(t: Test, before: ReadonlyMap<KubernetesNode, NodeState>): Promise<void> {
  for (const [{ room, kubelet, node }, state] of before) {
    await eventually(async () => {
      const { items } = await kubelet.json<{ items: readonly Pod[] | null }>('/pods');
      assert.deepEqual(items?.map(({ metadata }) => metadata.name) ?? [], []);
    }, 60_000, 500);
    // The kubelet removes ended sandboxes once a minute; this is how.
    await node.removePods();
    t.strictSame(await node.leaksSince(state, 60_000), [], `nothing is left behind on ${room.name}`);
  }
}
