import { randomBytes } from 'node:crypto';

/** 256 bits: nobody guesses one in its minute. */
const TOKEN_BYTES = 32;

export interface RequestTokensOptions {
  /** Milliseconds until a token that nobody used is worth nothing. */
  readonly ttlMs: number;
  /** Tokens that wait at once. */
  readonly limit: number;
}

/** Keeps what a token stands for until it is used, once, or too old. */
export class RequestTokens<T> {
  private readonly entries = new Map<string, { readonly value: T; readonly serial: number; readonly timer: NodeJS.Timeout }>();
  private issued = 0;

  constructor(private readonly options: RequestTokensOptions) {}

  /** Safe in a URL's path; undefined when too many wait. */
  issue(value: T): string | undefined {
    if (this.entries.size >= this.options.limit) return undefined;
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const timer = setTimeout(() => this.entries.delete(token), this.options.ttlMs).unref();
    this.entries.set(token, { value, serial: ++this.issued, timer });
    return token;
  }

  /** What it stands for, the first time; undefined for one that is unknown, used, too old, or for something else than `accept` wants. */
  redeem<U extends T>(token: string, accept: (value: T) => value is U): U | undefined {
    const entry = this.entries.get(token);
    if (entry === undefined || !accept(entry.value)) return undefined;
    clearTimeout(entry.timer);
    this.entries.delete(token);
    return entry.value;
  }

  /** What the tokens that wait stand for, each with a number of its own; the tokens themselves stay secret. */
  waiting(): { readonly value: T; readonly serial: number }[] {
    return [...this.entries.values()].map(({ value, serial }) => ({ value, serial }));
  }

  /** Makes tokens worth nothing. */
  revoke(which: (value: T) => boolean): void {
    for (const [token, { value, timer }] of this.entries) {
      if (!which(value)) continue;
      clearTimeout(timer);
      this.entries.delete(token);
    }
  }

  clear(): void {
    for (const { timer } of this.entries.values()) clearTimeout(timer);
    this.entries.clear();
  }
}
