/*
 * Start of a node, pod start as the kubelet sees it, and memory of the daemons: criquet against containerd's own CRI plugin on
 * nodes of one cluster, one node at a time, alternating between the two.
 *   node test-e2e/dist/cluster/pod-start.js [--engine 2.1|2.4] [--rounds N] [--pods N]
 */
import { inOwnNetwork } from '../harness/own-network.js';

await inOwnNetwork(import.meta.url, () => import('./measure-pod-start.js'));
