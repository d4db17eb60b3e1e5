import { join } from 'node:path';
import { Cluster } from '../harness/kubernetes/cluster.js';
import type { SideOptions, SideResult, Target } from './run-side.js';

/** Runs the suite against a cluster of as many nodes as it wants, every one of them with the same runtime. */
export async function runOnCluster(options: SideOptions, run: (target: Target) => Promise<SideResult>): Promise<SideResult> {
  const { site, suite, engine, runtime } = options;
  const node = { engine, runtime, fields: { serializeImagePulls: false } };
  const cluster = await Cluster.start({ site, nodes: Array.from({ length: suite.nodes }, () => node) });
  try {
    const { kubectl } = cluster;
    return await run({
      args: ['--provider=local', `--kubeconfig=${kubectl.kubeconfig}`, `--kubectl-path=${kubectl.program}`, `--num-nodes=${suite.nodes}`],
      keepLogs: async (directory) => {
        for (const { node, room } of cluster.nodes) await node.keepLogs(join(directory, room.name));
      },
    });
  } finally {
    await cluster.dispose();
  }
}
