import { resourceExhausted } from '../errors.js';

export interface QuotaOptions {
  /** What may be under way at once; 0 is no limit. */
  readonly limit: number;
  /** The configuration key that sets it, for example `container.max_execs`. */
  readonly option: string;
  /** What there is too much of, for example `commands run on this node`. */
  readonly what: string;
}

/** Bounds what is under way at once: one too many is refused and never waits. Those that may wait take {@link Slots}. */
export class Quota {
  private readonly taken = new Map<string, number>();

  constructor(private readonly options: QuotaOptions) {}

  /** @param key each has a quota of its own. @throws RESOURCE_EXHAUSTED that names the option, when nothing is left */
  check(key = ''): void {
    const { limit, option, what } = this.options;
    if (limit > 0 && (this.taken.get(key) ?? 0) >= limit) throw resourceExhausted(what, option, limit);
  }

  /** Takes one; the answer gives it back, however often it is called. @throws as {@link check} */
  take(key = ''): () => void {
    this.check(key);
    this.taken.set(key, (this.taken.get(key) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = (this.taken.get(key) ?? 0) - 1;
      if (left > 0) this.taken.set(key, left);
      else this.taken.delete(key);
    };
  }
}
