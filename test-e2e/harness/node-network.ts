import { run } from './run.js';

const BRIDGE = 'nodes';
const PREFIX = '10.199.0.';

/**
 * The network that joins the nodes of a suite, and the suite itself: a bridge in the suite's own network namespace
 * (`own-network.ts`), with which it also goes away.
 */
export class NodeNetwork {
  /** The suite's address on it; a registry or an API server listens here. */
  readonly address = `${PREFIX}1`;
  readonly prefixLength = 24;

  private constructor() {}

  static async create(): Promise<NodeNetwork> {
    const network = new NodeNetwork();
    await run('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
    await run('ip', ['address', 'add', `${network.address}/${network.prefixLength}`, 'dev', BRIDGE]);
    await run('ip', ['link', 'set', BRIDGE, 'up']);
    await run('sysctl', ['-qw', 'net.ipv4.ip_forward=1']);
    return network;
  }

  /** The address of the node `index`, counted from 0. */
  nodeAddress(index: number): string {
    if (!Number.isInteger(index) || index < 0 || index > 200) throw new Error(`node ${index}: 0 to 200`);
    return `${PREFIX}${10 + index}`;
  }

  /** Gives the network namespace of process `pid` a link `eth0` with the address of node `index`, and a default route. */
  async attach(index: number, pid: number): Promise<string> {
    const address = this.nodeAddress(index);
    const link = `node${index}`;
    const inside = (...args: string[]) => run('nsenter', ['--target', String(pid), '--net', 'ip', ...args]);
    await run('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)]);
    await run('ip', ['link', 'set', link, 'master', BRIDGE, 'up']);
    await inside('link', 'set', 'lo', 'up');
    await inside('address', 'add', `${address}/${this.prefixLength}`, 'dev', 'eth0');
    await inside('link', 'set', 'eth0', 'up');
    await inside('route', 'add', 'default', 'via', this.address);
    return address;
  }

  /** Routes a node's pod network to the node, for the suite itself. The other nodes have their default route this way. */
  async route(podSubnet: string, index: number): Promise<void> {
    await run('ip', ['route', 'add', podSubnet, 'via', this.nodeAddress(index)]);
  }

  async unroute(podSubnet: string): Promise<void> {
    await run('ip', ['route', 'delete', podSubnet]);
  }
}
