import { randomInt } from 'node:crypto';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { Token, type Containers, type Sandboxes } from '../tokens.js';

/** The categories of the policies in use (c0 to c1023). */
const CATEGORIES = 1024;

/**
 * Chooses SELinux levels, so that no two pods can touch each other's files: two categories out of 1024 (multi-category security).
 * A level is taken while the record of some pod or container has it; so it is free again when the record goes, and after a restart it is
 * taken as soon as the record is read.
 */
@scoped(Lifecycle.ContainerScoped)
export class SelinuxLevels {
  /** Of pods that have no record yet. */
  private readonly reserved = new Set<string>();

  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
  ) {}

  /** A level that nobody has. It stays taken until {@link settle}, when the record that names it is there or never will be. */
  reserve(): string {
    const taken = this.taken();
    for (;;) {
      const level = randomLevel();
      if (level === undefined || taken.has(level)) continue;
      this.reserved.add(level);
      return level;
    }
  }

  settle(level: string): void {
    this.reserved.delete(level);
  }

  private taken(): Set<string | undefined> {
    return new Set([
      ...this.reserved,
      ...this.sandboxes.all().map(({ selinuxLevel, config }) => selinuxLevel ?? config.linux?.securityContext?.selinuxOptions?.level),
      ...this.containers.all().map(({ config }) => config.linux?.securityContext?.selinuxOptions?.level),
    ]);
  }
}

function randomLevel(): string | undefined {
  const [one, other] = [randomInt(CATEGORIES), randomInt(CATEGORIES)];
  return one === other ? undefined : `s0:c${Math.min(one, other)},c${Math.max(one, other)}`;
}
