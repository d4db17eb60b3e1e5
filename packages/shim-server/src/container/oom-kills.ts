import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { EventStream } from '../runtime/event-stream.js';
import { readTextSync } from '../runtime/read-text-sync.js';
import { cgroupDirectory, type NodeFacts } from '../spec/index.js';
import type { ContainerRecord } from '../state/container-record.js';
import { Token, type Containers, type NodeRoots } from '../tokens.js';

/**
 * Knows whether the kernel killed a process of a container for its memory limit. The container's cgroup is asked first, so that the
 * answer is there before the first reader of the exit code; containerd's event says the same, though it may come later.
 *
 * systemd removes a scope's cgroup as soon as its last process is dead, often before anybody could ask. What is left then is the count of
 * the pod's slice, which includes cgroups that are gone: `memory.events` is hierarchical (cgroup-v2.rst), and a kill counts in the
 * cgroup of the process that was killed.
 */
@scoped(Lifecycle.ContainerScoped)
export class OomKills {
  private readonly announced = new Set<string>();
  /** By slice: kills in cgroups that are gone, as far as they belong to containers that were asked about, or happened before. */
  private readonly accounted = new Map<string, number>();

  constructor(
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
    @inject(EventStream) events: EventStream,
    @inject(Token.Containers) private readonly containers: Containers,
  ) {
    events.on('oom', ({ containerId }) => {
      // Of others in the namespace, or told too late to matter: nobody would ever forget it.
      const container = containers.get(containerId);
      if (container !== undefined && container.phase !== 'exited') this.announced.add(containerId);
    });
  }

  /** Before a container runs: takes what happened in its pod earlier off the account. */
  async expect(container: ContainerRecord): Promise<void> {
    const slice = this.slice(container);
    if (slice === undefined || this.accounted.has(slice)) return;
    const kills = await killsOfTheGone(slice);
    if (!this.accounted.has(slice)) this.accounted.set(slice, kills);
  }

  /** Whether it happened to a container that has ended; ask once. */
  async happened(container: ContainerRecord): Promise<boolean> {
    const own = killsIn(this.directory(container), this.node.cgroup);
    const slice = this.slice(container);
    const known = slice === undefined ? undefined : this.accounted.get(slice);
    let killed = own !== undefined && own > 0;
    if (slice !== undefined && known !== undefined) {
      if (own !== undefined) {
        this.accounted.set(slice, known + own);
      } else {
        const gone = await killsOfTheGone(slice);
        // Whoever asks first has them: two containers killed in the same instant cannot be told apart any more.
        killed = gone > (this.accounted.get(slice) ?? gone);
        this.accounted.set(slice, Math.max(known, gone));
      }
    }
    return killed || this.announced.has(container.id);
  }

  forget(container: ContainerRecord | undefined, containerId: string): void {
    this.announced.delete(containerId);
    const slice = container === undefined ? undefined : this.slice(container);
    if (slice === undefined) return;
    const others = this.containers.all().some((other) => other.phase === 'running' && this.slice(other) === slice);
    if (!others) this.accounted.delete(slice);
  }

  /** The slice of the container's pod; undefined where cgroups stay until the runtime removes them, or the slice is other programs' too. */
  private slice(container: ContainerRecord): string | undefined {
    const { cgroupsPath } = container;
    // The path's form tells the driver.
    if (this.node.cgroup !== 'v2' || !cgroupsPath.includes(':') || cgroupsPath.startsWith('system.slice:')) return undefined;
    return dirname(this.directory(container));
  }

  private directory(container: ContainerRecord): string {
    return cgroupDirectory(container.cgroupsPath, this.node, 'memory', join(this.roots.sys, 'fs/cgroup'));
  }
}

/** Processes of a cgroup (on v2 also of those below it) that were killed for a memory limit; undefined when there is no such cgroup. */
function killsIn(directory: string, version: 'v1' | 'v2'): number | undefined {
  const file = version === 'v2' ? 'memory.events' : 'memory.oom_control';
  const kills = /^oom_kill (\d+)$/m.exec(readTextSync(join(directory, file)) ?? '')?.[1];
  return kills === undefined ? undefined : Number(kills);
}

/** Kills below a v2 cgroup that none of the cgroups in it has counted. */
async function killsOfTheGone(slice: string): Promise<number> {
  // Before those inside: a kill between the reads is then missing for a moment, and never taken for one of the gone.
  const all = killsIn(slice, 'v2') ?? 0;
  const entries = await readdir(slice, { withFileTypes: true }).catch(() => []);
  const inside = entries.filter((entry) => entry.isDirectory()).map(({ name }) => killsIn(join(slice, name), 'v2') ?? 0);
  return Math.max(0, all - inside.reduce((sum, kills) => sum + kills, 0));
}
