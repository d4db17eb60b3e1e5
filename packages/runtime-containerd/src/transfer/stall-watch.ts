import type { PullProgress } from './pull-request.js';

export interface StallWatchOptions {
  readonly limitMs: number;
  /** The bytes that have arrived in all ingests of the namespace, in a form that changes when any of them grows. */
  readonly ingested: () => Promise<string>;
  /** Called once, with what was awaited. */
  readonly onStall: (awaited: readonly string[]) => void;
}

type Wait = 'waiting' | 'downloading';

/** What is being awaited before the first message about content. */
const RESOLVE = 'resolve';

/**
 * Finds out from containerd's progress messages that a pull has stalled.
 *
 * Time counts only while bytes are awaited: the answer of the registry to the resolution, or a blob that has not arrived.
 * Unpacking does not count. A blob that is "waiting" may be queued behind other pulls (the number of downloads is limited
 * for the whole daemon), so while none of this pull's blobs is downloading, any ingest that grows counts as progress.
 */
export class StallWatch {
  private readonly awaited = new Map<string, Wait>([[RESOLVE, 'downloading']]);
  private readonly timer: NodeJS.Timeout;
  private last = performance.now();
  private seen = '';
  private stopped = false;

  constructor(private readonly options: StallWatchOptions) {
    const interval = Math.max(10, Math.min(1000, options.limitMs / 4));
    this.timer = setInterval(() => void this.check(), interval);
    this.timer.unref();
  }

  update({ event, name }: PullProgress): void {
    switch (event) {
      case 'waiting':
        this.awaited.delete(RESOLVE);
        this.awaited.set(name, 'waiting');
        break;
      case 'downloading':
        this.awaited.set(name, 'downloading');
        break;
      case 'complete':
      case 'already exists':
      case 'extracting':
      case 'extracted':
        this.awaited.delete(name);
        break;
      case 'saved':
        this.awaited.clear();
        break;
      default:
        // "Resolving from …" opens the resolution; any other line about the whole pull comes after it.
        if (event.startsWith('Resolving')) return;
        this.awaited.delete(RESOLVE);
    }
    this.last = performance.now();
  }

  stop(): void {
    this.stopped = true;
    clearInterval(this.timer);
  }

  private async check(): Promise<void> {
    if (this.awaited.size === 0) {
      this.last = performance.now();
      return;
    }
    if (![...this.awaited.values()].includes('downloading')) await this.noteOthers();
    if (this.stopped || performance.now() - this.last < this.options.limitMs) return;
    this.stop();
    this.options.onStall([...this.awaited.keys()]);
  }

  private async noteOthers(): Promise<void> {
    try {
      const ingested = await this.options.ingested();
      if (ingested !== this.seen) this.last = performance.now();
      this.seen = ingested;
    } catch {
      // containerd does not answer: the transfer call itself tells that better.
    }
  }
}
