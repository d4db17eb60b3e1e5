/** In characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** The sizes that a client's terminal takes on. Only the newest counts: one that nobody has fetched yet is replaced. */
export class TerminalSizes {
  private newest: TerminalSize | undefined;
  private ended = false;
  private wake: (() => void) | undefined;

  push(size: TerminalSize): void {
    this.newest = size;
    this.wake?.();
  }

  end(): void {
    this.ended = true;
    this.wake?.();
  }

  /** The next size, kept until it is fetched; undefined when there will be none, or none within `ms`. One caller at a time. */
  async next(ms?: number): Promise<TerminalSize | undefined> {
    if (this.newest === undefined && !this.ended) await this.change(ms);
    const size = this.newest;
    this.newest = undefined;
    return size;
  }

  private change(ms: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(() => this.wake?.(), ms);
      this.wake = () => {
        clearTimeout(timer);
        this.wake = undefined;
        resolve();
      };
    });
  }
}

/** More than any size message; a client that sends more without an end sends none. */
const MAX_PENDING = 1024;
const MAX_CHARACTERS = 65_535;

/** Reads the resize stream: JSON objects `{"Width":80,"Height":24}` one after the other, however they are cut. */
export class SizeDecoder {
  private pending = '';

  constructor(private readonly sizes: TerminalSizes) {}

  push(chunk: Buffer): void {
    this.pending += chunk.toString('latin1');
    for (let end = this.pending.indexOf('}'); end >= 0; end = this.pending.indexOf('}')) {
      const size = parseSize(this.pending.slice(0, end + 1));
      if (size !== undefined) this.sizes.push(size);
      this.pending = this.pending.slice(end + 1);
    }
    if (this.pending.length > MAX_PENDING) this.pending = '';
  }
}

function parseSize(text: string): TerminalSize | undefined {
  try {
    const object = JSON.parse(text) as Record<string, unknown>;
    // Go's decoder takes names in any case.
    const fields = new Map(Object.entries(object).map(([name, value]) => [name.toLowerCase(), value]));
    const width = fields.get('width');
    const height = fields.get('height');
    return isLength(width) && isLength(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

function isLength(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_CHARACTERS;
}
