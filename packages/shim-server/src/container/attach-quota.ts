import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { Quota } from '../state/quota.js';
import { Token } from '../tokens.js';

/** How many clients are attached to a container at once: each has a backlog of its own, and all of them share the container's pace. */
@scoped(Lifecycle.ContainerScoped)
export class AttachQuota extends Quota {
  constructor(@inject(Token.Config) { container }: CriquetConfig) {
    super({ limit: container.maxAttachClients, option: 'container.max_attach_clients', what: 'too many clients are attached to this container' });
  }
}
