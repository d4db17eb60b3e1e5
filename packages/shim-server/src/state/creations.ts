import { alreadyExists } from '../errors.js';
import { orAbort } from './keyed-mutex.js';

interface Creation {
  readonly digest: string;
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
   * @param create makes the object and returns its id.
   * @throws ALREADY_EXISTS when the name is being created with another configuration; the signal's reason when this caller
   * stops waiting.
   */
  async join(name: string, digest: string, signal: AbortSignal, create: () => Promise<string>): Promise<string> {
    let creation = this.underWay.get(name);
    if (creation === undefined) {
      creation = { digest, result: create().finally(() => this.underWay.delete(name)) };
      // A caller that stopped waiting must not leave an unhandled rejection behind.
      creation.result.catch(() => undefined);
      this.underWay.set(name, creation);
    } else if (creation.digest !== digest) {
      throw alreadyExists(`${name} is being created with another configuration`);
    }
    return orAbort(creation.result, signal);
  }
}
