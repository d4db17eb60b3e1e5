import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { Quota } from '../state/quota.js';
import { Token } from '../tokens.js';

/** How many commands (ExecSync, Exec) run at once: in one container, so that it leaves room for the others, and in all. */
@scoped(Lifecycle.ContainerScoped)
export class ExecQuota {
  private readonly inAll: Quota;
  private readonly inContainer: Quota;

  constructor(@inject(Token.Config) { container }: CriquetConfig) {
    this.inAll = new Quota({ limit: container.maxExecs, option: 'container.max_execs', what: 'too many commands run in containers' });
    this.inContainer = new Quota({
      limit: container.maxExecsPerContainer,
      option: 'container.max_execs_per_container',
      what: 'too many commands run in this container',
    });
  }

  /** @throws RESOURCE_EXHAUSTED when no further command may be run in the container */
  check(containerId: string): void {
    this.inContainer.check(containerId);
    this.inAll.check();
  }

  /** For one command; the answer gives it back. @throws as {@link check} */
  take(containerId: string): () => void {
    this.check(containerId);
    const releases = [this.inContainer.take(containerId), this.inAll.take()];
    return () => {
      for (const release of releases) release();
    };
  }
}
