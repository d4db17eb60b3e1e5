import type { TestNode } from '../node.js';
import type { Room } from '../room.js';
import { findProgram } from './find-program.js';
import { Kubelet, type KubeletOptions } from './kubelet.js';
import { NodeInRoom, type NodeInRoomOptions } from './node-in-room.js';

export interface KubernetesNodeOptions extends NodeInRoomOptions, Pick<KubeletOptions, 'fields' | 'kubeconfig' | 'flags'> {}

/** A whole Kubernetes node in a room of its own: containerd, CRI runtime and kubelet. */
export class KubernetesNode {
  private constructor(
    private readonly inRoom: NodeInRoom,
    readonly kubelet: Kubelet,
  ) {}

  static async start(options: KubernetesNodeOptions): Promise<KubernetesNode> {
    // Before there is anything to take away again.
    await findProgram(options.site.environment, 'kubelet');
    const inRoom = await NodeInRoom.start(options);
    const { node, room } = inRoom;
    try {
      return new KubernetesNode(inRoom, await Kubelet.start({ node, room, ...options }));
    } catch (error) {
      await inRoom.dispose();
      throw error;
    }
  }

  get room(): Room {
    return this.inRoom.room;
  }

  get node(): TestNode {
    return this.inRoom.node;
  }

  /** For files of what belongs to the node beside runtime and kubelet; goes away with it. */
  get directory(): string {
    return this.inRoom.directory;
  }

  /**
   * What a power failure does to a node: kubelet, runtime, containerd, shims and containers die at once, what is kept in memory is lost (state
   * directories, sockets, mounts, network namespaces, links, rules, cgroups), and what is on the disk stays.
   */
  async cutPower(): Promise<void> {
    await Promise.all([this.kubelet.stop('SIGKILL'), this.inRoom.cutPower()]);
    await this.kubelet.removeCgroups();
  }

  /** The next boot: containerd, the runtime and the kubelet start, in this order. */
  async boot(): Promise<void> {
    await this.kubelet.makeCgroups();
    await this.inRoom.boot();
    await this.kubelet.start();
  }

  /** Ends kubelet, pods, runtime and containerd, and takes away all of them. */
  async dispose(): Promise<void> {
    await this.kubelet.dispose();
    await this.inRoom.dispose();
    await this.kubelet.removeCgroups();
  }
}
