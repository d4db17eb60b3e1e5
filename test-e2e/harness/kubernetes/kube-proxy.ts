import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Daemon } from '../daemon.js';
import type { Environment } from '../environment.js';
import type { Room } from '../room.js';
import { run } from '../run.js';
import { findProgram } from './find-program.js';

export interface KubeProxyOptions {
  readonly environment: Environment;
  /** The node's room: its rules are that room's, and end with it. */
  readonly room: Room;
  /** Where its configuration, log and pid file go. */
  readonly directory: string;
  readonly kubeconfig: string;
  /** Subnet of every node's pods; what comes from elsewhere is masqueraded. */
  readonly podSubnet: string;
}

/** Starts a kube-proxy (iptables mode) in a node's room. */
export async function startKubeProxy({ environment, room, directory, kubeconfig, podSubnet }: KubeProxyOptions): Promise<Daemon> {
  const config = join(directory, 'kube-proxy.json');
  const health = `${room.address}:10256`;
  await writeFile(
    config,
    JSON.stringify(
      {
        apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
        kind: 'KubeProxyConfiguration',
        mode: 'iptables',
        hostnameOverride: room.name,
        clientConnection: { kubeconfig },
        clusterCIDR: podSubnet,
        healthzBindAddress: health,
        metricsBindAddress: '127.0.0.1:10249',
        // Zero leaves the kernel's own: these are settings of the whole machine.
        conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
        // Pods of one node meet on its bridge, and it is conntrack that leads answers back through a Service's address.
        iptables: { minSyncPeriod: '200ms' },
      },
      null,
      2,
    ),
  );
  await run(...room.command('sysctl', ['-qw', 'net.bridge.bridge-nf-call-iptables=1']));
  return Daemon.start({
    name: 'kube-proxy',
    program: await findProgram(environment, 'kube-proxy'),
    args: [`--config=${config}`],
    directory,
    place: room,
    ready: async () => {
      const response = await fetch(`http://${health}/livez`);
      if (!response.ok) throw new Error(`/livez: ${response.status}`);
    },
    readyTimeoutMs: 60_000,
  });
}
