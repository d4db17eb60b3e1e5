import { spawn } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeCgroupRoot, removeCgroupRoot } from './cgroup-root.js';
import { eventually } from './eventually.js';
import type { NodeNetwork } from './node-network.js';
import type { Place } from './place.js';
import { run } from './run.js';

export interface RoomOptions {
  /** The node's host name. */
  readonly name: string;
  readonly network: NodeNetwork;
  /** Which of the network's node addresses it has, counted from 0. */
  readonly index: number;
  /** Where its own files are kept; must not be on an overlay file system. */
  readonly directory: string;
  /**
   * Whether what is below a cgroup of its own, named after the directory, is all that it sees of the machine's cgroups (v1 only):
   * for programs that insist on the root. Default: it sees those of the machine.
   */
  readonly ownCgroups?: boolean;
}

/** Places that programs of a node have by fixed paths and that must be real directories, not an overlay: id-mapped mounts need them. */
const OWN_DIRECTORIES = ['/var/lib/kubelet', '/var/log'];

/**
 * Network, mount and UTS namespaces of a node of its own. It sees the machine's files; what is written to /etc and /var stays
 * in the room, /run is empty, and /var/lib/kubelet and /var/log are directories of its own. /sys shows the room's links.
 */
export class Room implements Place {
  private constructor(
    readonly pid: number,
    /** Its address on the nodes' network. */
    readonly address: string,
    private readonly options: RoomOptions,
  ) {}

  static async open(options: RoomOptions): Promise<Room> {
    const { directory, name, network, index } = options;
    for (const part of ['etc', 'etc-work', 'var', 'var-work', ...OWN_DIRECTORIES]) await mkdir(join(directory, part), { recursive: true });
    const cgroup = options.ownCgroups === true ? basename(directory) : '';
    if (cgroup !== '') await makeCgroupRoot(cgroup);
    const unshare = ['unshare', '--net', '--mount', '--uts', ...(cgroup === '' ? [] : ['--cgroup']), '--propagation', 'private'];
    const furnish = [...unshare, 'sh', '-ec', FURNISH, 'room', directory, name, cgroup];
    const [program, ...args] = cgroup === '' ? furnish : inCgroups(`*/${cgroup}`, furnish);
    const holder = spawn(program ?? '', args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let said = '';
    holder.stdout.on('data', (data: Buffer) => (said += data.toString()));
    holder.stderr.on('data', (data: Buffer) => (said += data.toString()));
    try {
      await eventually(() => {
        if (holder.pid === undefined || holder.exitCode !== null) throw new Error(`no room for ${name}: ${said.trim()}`);
        if (!said.includes('furnished')) throw new Error(`the room of ${name} is not furnished: ${said.trim()}`);
      });
      // The holder outlives its pipes and does not keep this process.
      holder.unref();
      holder.stdout.destroy();
      holder.stderr.destroy();
      const pid = holder.pid ?? 0;
      return new Room(pid, await network.attach(index, pid), options);
    } catch (error) {
      holder.kill('SIGKILL');
      throw error;
    }
  }

  get name(): string {
    return this.options.name;
  }

  /** Which node of the network it is. */
  get index(): number {
    return this.options.index;
  }

  /** Where a path of the room's own /var/log or /var/lib/kubelet is on the machine. */
  outside(path: string): string {
    if (!OWN_DIRECTORIES.some((own) => path === own || path.startsWith(`${own}/`))) throw new Error(`${path} is not below ${OWN_DIRECTORIES.join(' or ')}`);
    return join(this.options.directory, path);
  }

  command(program: string, args: readonly string[]): [string, readonly string[]] {
    const enter = ['--target', String(this.pid), '--net', '--mount', '--uts'];
    if (this.options.ownCgroups !== true) return ['nsenter', [...enter, '--', program, ...args]];
    return ['nsenter', [...enter, '--cgroup', '--', ...inCgroups('*', [program, ...args])]];
  }

  /** Runs a program in the room and returns what it printed. */
  run(program: string, ...args: string[]): Promise<string> {
    return run(...this.command(program, args));
  }

  /** Unmounts what a kubelet's pods left: its directory is removed with the room, and must not be busy. */
  async unmountVolumes(): Promise<void> {
    await this.run('sh', '-c', `awk '$5 ~ "^/var/lib/kubelet/." { print $5 }' /proc/self/mountinfo | sort -r | xargs -r umount -l`);
  }

  /**
   * What a power failure takes from it, beside its processes: what was mounted, /run, links but `lo` and its own `eth0`, rules and kernel settings of its
   * network. The boot id stays the machine's: covered, it would keep user namespaces from mounting /proc.
   */
  async cutPower(): Promise<void> {
    await this.unmountVolumes();
    await this.run('sh', '-ec', FORGET);
  }

  /** Lets the room go and removes its directory; its namespaces end with the last process in them. */
  async close(): Promise<void> {
    await run('ip', ['link', 'delete', `node${this.index}`]);
    try {
      process.kill(this.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
    await eventually(() => ended(this.pid));
    await rm(this.options.directory, { recursive: true, force: true });
    if (this.options.ownCgroups === true) await removeCgroupRoot(basename(this.options.directory));
  }
}

/** Throws while a process is there. */
function ended(pid: number): void {
  try {
    process.kill(pid, 0);
  } catch {
    return;
  }
  throw new Error(`process ${pid} has not ended`);
}

/** A command that goes into the cgroups of a pattern, one of each hierarchy, and becomes another. */
function inCgroups(pattern: string, command: readonly string[]): string[] {
  const script = `for procs in /sys/fs/cgroup/${pattern}/cgroup.procs; do echo $$ >"$procs"; done; exec "$@"`;
  return ['sh', '-ec', script, 'room', ...command];
}

/**
 * $1 the room's directory, $2 its host name, $3 its own cgroup where it has one. A mount can be moved only while it is private, so
 * /sys comes before the sharing. What holds the room waits for a reader that never comes, and names its directory in its command line: by that
 * it is found where a run was cut off.
 */
const FURNISH = `
hostname "$2"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/etc,workdir=$1/etc-work" /etc
mount -t overlay overlay -o "lowerdir=/var,upperdir=$1/var,workdir=$1/var-work" /var
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs /run
mkdir -p ${OWN_DIRECTORIES.join(' ')} /run/lock /run/sys
for own in ${OWN_DIRECTORIES.join(' ')}; do mount --bind "$1$own" "$own"; done
mount -t sysfs -o nosuid,nodev,noexec sysfs /run/sys
if [ -z "$3" ]; then
  mount --rbind /sys/fs/cgroup /run/sys/fs/cgroup
else
  mount -t tmpfs -o mode=755,nosuid,nodev,noexec tmpfs /run/sys/fs/cgroup
  for own in /sys/fs/cgroup/*/"$3"; do
    hierarchy=/run$(dirname "$own")
    mkdir "$hierarchy"
    mount --bind "$own" "$hierarchy"
  done
fi
mount --move /run/sys /sys
rmdir /run/sys
mount --make-rshared /
mkfifo "$1/held"
echo furnished
exec cat "$1/held"
`;

/** A link that the kernel keeps (tunnels have one a module) cannot be deleted. */
const FORGET = `
for mount in $(awk '$5 ~ "^/run/." { print $5 }' /proc/self/mountinfo | sort -r); do umount -l "$mount" 2>/dev/null || true; done
find /run -mindepth 1 -delete
mkdir /run/lock
for link in $(ls /sys/class/net); do
  case $link in lo | eth0) ;; *) ip link delete "$link" 2>/dev/null || true ;; esac
done
for family in iptables ip6tables; do
  for table in $($family-save 2>/dev/null | sed -n 's/^\\*//p'); do
    $family -w 5 -t "$table" -F
    $family -w 5 -t "$table" -X
  done
done
nft flush ruleset 2>/dev/null || true
sysctl -qw net.ipv4.ip_forward=0
`;
