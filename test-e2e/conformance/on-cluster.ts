import { join } from 'node:path';
import { Cluster } from '../harness/kubernetes/cluster.js';
import { clusterDns } from '../harness/kubernetes/cluster-dns.js';
import type { Site } from '../harness/kubernetes/site.js';
import type { SideOptions, SideResult, Target } from './run-side.js';

const DNS_IMAGE = 'coredns/coredns';

/** Runs the suite against a cluster of as many nodes as it wants, every one of them with the same runtime. */
export async function runOnCluster(options: SideOptions, run: (target: Target) => Promise<SideResult>): Promise<SideResult> {
  const { site, suite, engine, runtime } = options;
  const node = { engine, runtime, fields: { serializeImagePulls: false } };
  const cluster = await Cluster.start({ site, nodes: Array.from({ length: suite.nodes }, () => node) });
  try {
    const { kubectl } = cluster;
    await kubectl.apply(...clusterDns(await dnsImage(site)));
    await kubectl.in('kube-system').wait('condition=Available', 'deployment/coredns', 120);
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

/** The one CoreDNS that the suites' registry holds. */
async function dnsImage(site: Site): Promise<string> {
  const answer = await fetch(`${site.registry.url}/v2/${DNS_IMAGE}/tags/list`);
  const { tags } = (await answer.json()) as { tags?: string[] };
  const tag = tags?.at(-1);
  if (tag === undefined) throw new Error('the registry has no CoreDNS: the images of the Kubernetes suites were not provided');
  return `registry.k8s.io/${DNS_IMAGE}:${tag}`;
}
