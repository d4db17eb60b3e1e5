import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { NodeFacts } from '../spec/index.js';
import { Token, type NodeRoots } from '../tokens.js';
import { readTextSync } from './read-text-sync.js';

/** As long as a move makes others quick, at least. */
const QUICK_MS = 10;
/** What a shim takes to start, or longer: an OCI runtime that is run later finds the kernel ready all the same. */
const SHIM_MS = 12;

/**
 * Makes the kernel ready to move processes between cgroups, which an OCI runtime does with everything that it starts.
 *
 * A move takes cgroup_threadgroup_rwsem for writing. The first one waits for an RCU grace period, 5 to 10 ms; those that follow within about as long go at once
 * (percpu_rw_semaphore, rcu_sync). An OCI runtime comes to its first move when it has run for as long itself: a move that was made when it was asked for has waited by then.
 *
 * The move that is made is that of this daemon into the cgroup where it is. Where that fails nothing is lost, and it is not tried again.
 */
@scoped(Lifecycle.ContainerScoped)
export class CgroupMoves {
  private until = 0;
  private works = true;

  constructor(
    @inject(Token.NodeFacts) private readonly node: Pick<NodeFacts, 'cgroup'>,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
  ) {}

  /** An OCI runtime is about to be run, once its shim has been started. */
  expectAfterShim(): void {
    setTimeout(() => this.expect(), SHIM_MS).unref();
  }

  /** An OCI runtime is about to be run. */
  expect(): void {
    const now = performance.now();
    if (!this.works || now < this.until) return;
    this.until = now + QUICK_MS;
    const directory = this.own();
    if (directory === undefined) {
      this.works = false;
      return;
    }
    // 0 is who writes it (cgroup.procs of cgroups(7)). Another thread waits for the grace period.
    writeFile(join(directory, 'cgroup.procs'), '0', { flag: 'r+' }).catch(() => (this.works = false));
  }

  /** Where this daemon is now: it is never moved elsewhere. */
  private own(): string | undefined {
    const lines = (readTextSync(join(this.roots.proc, 'self/cgroup')) ?? '').split('\n').map((line) => /^\d+:([^:]*):(.*)$/.exec(line));
    const wanted = this.node.cgroup === 'v2' ? '' : 'cpu';
    const path = lines.find((match) => match?.[1] === wanted || match?.[1]?.split(',').includes(wanted) === true)?.[2];
    return path === undefined ? undefined : join(this.roots.sys, 'fs/cgroup', wanted, path);
  }
}
