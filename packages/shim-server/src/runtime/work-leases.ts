import { randomBytes } from 'node:crypto';
import { leaseExpireLabel, type Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ownedByDaemon } from '../state/owner-labels.js';
import { Token } from '../tokens.js';
import { againLater } from './again-later.js';
import { ignoreNotFound } from './already-gone.js';
import { OwedWork } from './owed-work.js';

/** A lease ends by itself when no criquet is started again that could delete it. */
const LEASE_HOURS = 24;

/** Leases that last as long as one piece of work of this daemon: a pull, an unpacking. A later daemon deletes those of one that was killed. */
@scoped(Lifecycle.ContainerScoped)
export class WorkLeases {
  /** Those of which containerd has not said that they were made. */
  private readonly unsure = new Set<string>();

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
    this.unsure.add(lease);
    await this.containerd.leases.create({ id: lease, labels: { [leaseExpireLabel]: expires, ...ownedByDaemon(this.instance) } });
    this.unsure.delete(lease);
  }

  /** One that cannot be deleted now says nothing of the work; its deletion is owed. */
  async end(lease: string): Promise<void> {
    const remove = async (signal?: AbortSignal) => {
      await this.containerd.leases.delete(lease, signal === undefined ? {} : { signal }).catch(ignoreNotFound);
      if (this.unsure.delete(lease)) againLater(() => this.containerd.leases.delete(lease));
    };
    await remove().catch(() => this.owed.owe(lease, 'delete the lease', remove));
  }
}
