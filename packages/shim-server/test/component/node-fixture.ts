import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { V2_FILES, writeTree } from '../stats/cgroup-fixture.js';
import { NAMESPACE, Shim } from './shim-harness.js';

const NET_DEV = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0
  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0
  net1: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0
`;

/** A node with cgroup v2 whose files the test writes. */
export class FixtureNode {
  private constructor(
    readonly shim: Shim,
    readonly root: string,
  ) {}

  static async start(t: Test): Promise<FixtureNode> {
    const root = await mkdtemp(join(tmpdir(), 'criquet-node-'));
    const shim = await Shim.start({
      node: {
        nodeFacts: { cgroup: 'v2', cgroupDriver: 'cgroupfs', hugepageSizes: ['2MB'] },
        nodeRoots: { proc: join(root, 'proc'), sys: join(root, 'sys') },
      },
    });
    t.teardown(async () => {
      await shim.close();
      await rm(root, { recursive: true });
    });
    await mkdir(join(shim.containerd.dir, 'root/io.containerd.snapshotter.v1.overlayfs'), { recursive: true });
    await writeTree(root, {
      'proc/self/mountinfo': '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n',
      'sys/dev/block/8:0/uevent': 'MAJOR=8\nMINOR=0\nDEVNAME=sda\nDEVTYPE=disk\n',
    });
    return new FixtureNode(shim, root);
  }

  /** The cgroup of a container, a pause process or a whole pod. */
  async cgroup(path: string, change: Readonly<Record<string, string>> = {}): Promise<void> {
    const files = Object.entries({ ...V2_FILES, ...change }).map(([name, text]) => [`sys/fs/cgroup/${path}/${name}`, text]);
    await writeTree(this.root, Object.fromEntries(files) as Record<string, string>);
  }

  async network(id: string): Promise<void> {
    const { pid } = this.shim.containerd.process(NAMESPACE, id);
    await writeTree(this.root, { [`proc/${pid}/net/dev`]: NET_DEV });
  }

  /** Open files of a process, by what they are links to. */
  async openFiles(pid: number, targets: readonly string[]): Promise<void> {
    const directory = join(this.root, 'proc', String(pid), 'fd');
    await mkdir(directory, { recursive: true });
    for (const [fd, target] of targets.entries()) await symlink(target, join(directory, String(fd)));
  }
}
