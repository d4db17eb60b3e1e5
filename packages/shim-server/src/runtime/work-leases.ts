import { randomBytes } from 'node:crypto';
import { leaseExpireLabel, type Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ownedByDaemon } from '../state/owner-labels.js';
import { Token } from '../tokens.js';
import { ignoreNotFound } from './already-gone.js';
import { OwedWork } from './owed-work.js';

/** A lease ends by itself when no criquet is started again that could delete it. */
const LEASE_HOURS = 24;

/** Leases that last as long as one piece of work of this daemon: a pull, an unpacking. A later daemon deletes those of one that was killed. */
@scoped(Lifecycle.ContainerScoped)
export class WorkLeases {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.DaemonInstance) private readonly instance: string,
    @inject(OwedWork) private readonly owed: OwedWork,
  ) {}

  /** A name for one that is about to be made; it must be given to {@link end} whatever becomes of it. */
  name(work: string): string {
    return `criquet-${work}-${randomBytes(8).toString('hex')}`;
  }

  async begin(lease: string): Promise<void> {
    const expires = new Date(Date.now() + LEASE_HOURS * 3_600_000).toISOString();
    await this.containerd.leases.create({ id: lease, labels: { [leaseExpireLabel]: expires, ...ownedByDaemon(this.instance) } });
  }

  /** One that cannot be deleted now says nothing of the work; its deletion is owed. */
  async end(lease: string): Promise<void> {
    const remove = (signal?: AbortSignal) => this.containerd.leases.delete(lease, signal === undefined ? {} : { signal }).catch(ignoreNotFound);
    await remove().catch(() => this.owed.owe(lease, 'delete the lease', remove));
  }
}
