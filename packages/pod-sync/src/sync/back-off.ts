/** The kubelet's MaxContainerBackOff and its first delay, in milliseconds. */
const FIRST_MS = 10_000;
const MAX_MS = 300_000;

interface Entry {
  readonly delayMs: number;
  readonly updatedAt: number;
}

/**
 * Delays between starts of what keeps failing: the first repetition is immediate, then 10 s, 20 s, … up to 300 s. What ran well for
 * twice the longest delay begins anew.
 */
export class BackOff {
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly now: () => number = Date.now) {}

  /** Milliseconds that `key` still has to wait after its failure at `failedAt` (milliseconds since 1970); 0: go on. */
  remaining(key: string, failedAt: number): number {
    const entry = this.entries.get(key);
    if (entry === undefined || this.expired(entry, failedAt)) return 0;
    const passed = this.now() - failedAt;
    // A failure that lies in the future: the clock was set back, and how long it has waited is not known.
    return passed < 0 ? 0 : Math.max(0, entry.delayMs - passed);
  }

  /** Notes that `key` is tried again after its failure at `failedAt`. */
  next(key: string, failedAt: number): void {
    const entry = this.entries.get(key);
    const fresh = entry === undefined || this.expired(entry, failedAt);
    this.entries.set(key, { delayMs: fresh ? FIRST_MS : Math.min(entry.delayMs * 2, MAX_MS), updatedAt: this.now() });
  }

  /** Notes that `key` failed now; the next failure waits longer. */
  fail(key: string): void {
    this.next(key, this.now());
  }

  /** When `key` failed last by {@link fail} or was tried again by {@link next}. */
  lastFailure(key: string): number | undefined {
    return this.entries.get(key)?.updatedAt;
  }

  reset(key: string): void {
    this.entries.delete(key);
  }

  private expired(entry: Entry, failedAt: number): boolean {
    return failedAt - entry.updatedAt > 2 * MAX_MS;
  }
}
