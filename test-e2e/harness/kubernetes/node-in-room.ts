import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine, Environment } from '../environment.js';
import { TestNode, type Runtime } from '../node.js';
import { Room } from '../room.js';
import type { Site } from './site.js';

export interface NodeInRoomOptions {
  readonly site: Site;
  readonly engine: Engine;
  readonly runtime: Runtime;
  /** Default: `node-INDEX`. */
  readonly name?: string;
  /** Its place on the site's network, counted from 0; its pods' subnet is 10.88.INDEX.0/24. Default: 0. */
  readonly index?: number;
  /** See `RoomOptions`; the kubelet's `cgroupRoot` is then `/`. */
  readonly ownCgroups?: boolean;
  /** Lines for the end of criquet's configuration file. */
  readonly extraConfig?: string;
  /** Names of runtime handlers beside `runc`, which are made like it. */
  readonly handlers?: readonly string[];
  /** criquet's log level. Default: debug. */
  readonly logLevel?: string;
}

/** CRIU is on containerd's PATH where there is one: the kubelet's /checkpoint wants it. */
function withCriu(environment: Environment): Environment {
  const { criuDirectory, tools } = environment;
  return criuDirectory === undefined ? environment : { ...environment, tools: [criuDirectory, ...tools] };
}

/** A room with containerd and a CRI runtime: what a kubelet is put on. */
export class NodeInRoom {
  private constructor(
    readonly room: Room,
    readonly node: TestNode,
    /** For files of what belongs to the node beside its runtime; goes away with it. */
    readonly directory: string,
    private readonly site: Site,
  ) {}

  static async start(options: NodeInRoomOptions): Promise<NodeInRoom> {
    const { site, engine, runtime, index = 0, name = `node-${index}` } = options;
    const { network, registry } = site;
    const environment = withCriu(site.environment);
    const directory = join(environment.root, `criquet-e2e-room-${randomBytes(4).toString('hex')}`);
    await mkdir(directory, { recursive: true });
    const undo: (() => Promise<unknown>)[] = [];
    try {
      const room = await Room.open({ name, network, index, directory, ownCgroups: options.ownCgroups === true });
      undo.push(() => room.close());
      const podSubnet = `10.88.${index}.0/24`;
      await network.route(podSubnet, index);
      undo.push(() => network.unroute(podSubnet));
      const node = await TestNode.start({
        engine,
        runtime,
        environment,
        registry,
        podSubnet,
        place: room,
        handlers: options.handlers ?? [],
        ...(options.extraConfig === undefined ? {} : { extraConfig: options.extraConfig }),
        ...(options.logLevel === undefined ? {} : { logLevel: options.logLevel }),
      });
      undo.push(() => node.dispose());
      const inRoom = new NodeInRoom(room, node, directory, site);
      await inRoom.linkContainerd();
      return inRoom;
    } catch (error) {
      for (const step of undo.reverse()) await step();
      throw error;
    }
  }

  /** cAdvisor in the kubelet looks for containerd here, and nowhere else. */
  private async linkContainerd(): Promise<void> {
    await this.room.run('mkdir', '-p', '/run/containerd');
    await this.room.run('ln', '-s', this.node.containerd.paths.socket, '/run/containerd/containerd.sock');
  }

  /** What a power failure does: see {@link TestNode.cutPower} and {@link Room.cutPower}. */
  async cutPower(): Promise<void> {
    await this.node.cutPower();
    await this.room.cutPower();
  }

  /** containerd and the runtime start, after {@link cutPower}. */
  async boot(): Promise<void> {
    await this.linkContainerd();
    await this.node.boot();
  }

  /** Ends pods, runtime and containerd, and takes away the room with all that is in it. */
  async dispose(): Promise<void> {
    await this.node.dispose();
    await this.site.network.unroute(this.node.network.subnet);
    await this.room.close();
  }
}
