import { alreadyExists, ShimError } from '../errors.js';
import { toStatus } from '../grpc/status.js';
import { orAbort } from './keyed-mutex.js';

/** Where a creation is, for a caller that does not wait for its end. */
export interface CreationProgress {
  readonly current: string;
}

interface Creation {
  readonly digest: string;
  readonly progress: { steps?: CreationProgress };
  readonly result: Promise<string>;
}

/**
 * Creations under way, by the name their metadata gives.
 *
 * A retry with the same name and an equal configuration joins the creation instead of beginning a second one. The creation
 * itself does not stop when a caller goes away: the retry of that caller finds what it finished.
 */
export class Creations {
  private readonly underWay = new Map<string, Creation>();

  /**
   * @param digest of the configuration; see {@link configDigest}.
   * @param create makes the object and returns its id; it puts its steps into what it is given.
   * @throws ALREADY_EXISTS when the name is being created with another configuration; DEADLINE_EXCEEDED or CANCELLED, with the
   * step that is under way, when this caller stops waiting.
   */
  async join(
    name: string,
    digest: string,
    signal: AbortSignal,
    create: (progress: { steps?: CreationProgress }) => Promise<string>,
  ): Promise<string> {
    let creation = this.underWay.get(name);
    if (creation === undefined) {
      const progress = {};
      creation = { digest, progress, result: create(progress).finally(() => this.underWay.delete(name)) };
      // A caller that stopped waiting must not leave an unhandled rejection behind.
      creation.result.catch(() => undefined);
      this.underWay.set(name, creation);
    } else if (creation.digest !== digest) {
      throw alreadyExists(`${name} is being created with another configuration`);
    }
    const { progress } = creation;
    try {
      return await orAbort(creation.result, signal);
    } catch (error) {
      const step = progress.steps?.current;
      if (!signal.aborted || error !== signal.reason || !step) throw error;
      const { code, message } = toStatus(error);
      throw new ShimError(code, `${step}: ${message}; it goes on, and a retry joins it`);
    }
  }
}
