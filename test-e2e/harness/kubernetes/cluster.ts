import { ControlPlane, type ControlPlaneOptions } from './control-plane.js';
import { KUBE_PROXY, nodeUser } from './credentials.js';
import { DNS_ADDRESS, DNS_DOMAIN } from './cluster-dns.js';
import type { Daemon } from '../daemon.js';
import { startKubeProxy } from './kube-proxy.js';
import type { Kubectl } from './kubectl.js';
import { KubernetesNode, type KubernetesNodeOptions } from './kubernetes-node.js';

/** Of all nodes: `KubernetesNode` gives node INDEX 10.88.INDEX.0/24. */
const POD_SUBNET = '10.88.0.0/16';

/** How many nodes may join a cluster in its life. */
const NODES = 16;

export type ClusterNodeOptions = Omit<KubernetesNodeOptions, 'site' | 'name' | 'index' | 'kubeconfig'>;

export interface ClusterOptions extends Pick<ControlPlaneOptions, 'site' | 'apiServerFlags' | 'controllerManagerFlags'> {
  /** The nodes that it begins with; they are called `node-0`, `node-1` … */
  readonly nodes: readonly ClusterNodeOptions[];
}

/** A Kubernetes cluster on this machine: a control plane on a site, and nodes in rooms of their own. */
export class Cluster {
  private readonly members: KubernetesNode[] = [];
  private readonly proxies = new Map<KubernetesNode, Daemon>();
  private joined = 0;

  private constructor(
    readonly controlPlane: ControlPlane,
    private readonly options: ClusterOptions,
  ) {}

  /** Starts it, and waits until every node is Ready. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const nodeNames = Array.from({ length: NODES }, (_, index) => nodeName(index));
    const cluster = new Cluster(await ControlPlane.start({ ...options, nodeNames }), options);
    try {
      await settled(options.nodes.map((node) => cluster.addNode(node)));
      return cluster;
    } catch (error) {
      await cluster.dispose();
      throw error;
    }
  }

  /** An administrator's. */
  get kubectl(): Kubectl {
    return this.controlPlane.kubectl;
  }

  get nodes(): readonly KubernetesNode[] {
    return this.members;
  }

  /** Starts another node, and waits until it is Ready. */
  async addNode(options: ClusterNodeOptions): Promise<KubernetesNode> {
    const index = this.joined++;
    const { site } = this.options;
    const node = await KubernetesNode.start({
      ...options,
      site,
      index,
      name: nodeName(index),
      kubeconfig: await this.controlPlane.kubeconfig(nodeUser(nodeName(index))),
      fields: { clusterDNS: [DNS_ADDRESS], clusterDomain: DNS_DOMAIN, ...options.fields },
    });
    this.members.push(node);
    this.members.sort((one, other) => one.room.index - other.room.index);
    const proxy = await startKubeProxy({
      environment: site.environment,
      room: node.room,
      directory: node.directory,
      kubeconfig: await this.controlPlane.kubeconfig(KUBE_PROXY),
      podSubnet: POD_SUBNET,
    });
    this.proxies.set(node, proxy);
    await this.kubectl.wait('create', `node/${node.room.name}`);
    await this.kubectl.wait('condition=Ready', `node/${node.room.name}`);
    return node;
  }

  /** Ends a node with everything on it, and takes it out of the API. */
  async removeNode(node: KubernetesNode): Promise<void> {
    await this.end(node);
    await this.kubectl.delete('node', node.room.name);
  }

  /** Ends nodes and control plane. The site stays. */
  async dispose(): Promise<void> {
    await settled(this.members.map((node) => this.end(node)));
    await this.controlPlane.stop();
  }

  private async end(node: KubernetesNode): Promise<void> {
    await this.proxies.get(node)?.stop();
    await node.dispose();
    this.members.splice(this.members.indexOf(node), 1);
  }
}

/** As `Promise.all`, but nothing is under way any more when it rejects. */
async function settled(promises: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(promises);
  await Promise.all(promises);
}

function nodeName(index: number): string {
  return `node-${index}`;
}
