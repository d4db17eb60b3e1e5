import { memoryUsage, cpuUsage } from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import koffi from 'koffi';
import type { Logger } from 'pino';

/** A pause between two looks. */
const LOOK_MS = 2_500;
/** A daemon that used less than this share of a core since the last look has time for a collection, which stops it for 10 to 50 ms. */
const IDLE_SHARE = 0.1;
/** What is not worth a collection. */
const GROWTH_BYTES = 4 * 1024 * 1024;

/** What is known of the process, and what can be done to it. */
export interface ProcessMemory {
  /** In bytes. */
  resident(): number;
  /** Processor time so far, in milliseconds. */
  cpu(): number;
  /** Gives back what is not needed. */
  giveBack(): void;
}

/**
 * Gives the memory of a burst of work back while the daemon has little to do: V8 collects old garbage when much new has come, and malloc keeps what is
 * freed, so that without it a daemon that has started a hundred pods keeps a quarter more than it needs.
 */
export class IdleMemory {
  private readonly timer: NodeJS.Timeout;
  /** What was left after the last collection. */
  private least = 0;
  private cpu: number;

  constructor(
    private readonly log: Logger,
    private readonly memory: ProcessMemory = ownMemory(),
    lookMs = LOOK_MS,
  ) {
    this.cpu = memory.cpu();
    this.timer = setInterval(() => this.look(lookMs), lookMs).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(sinceMs: number): void {
    const { memory } = this;
    const before = this.cpu;
    this.cpu = memory.cpu();
    if (this.cpu - before > IDLE_SHARE * sinceMs) return;
    const resident = memory.resident();
    if (resident < this.least + GROWTH_BYTES) return;
    memory.giveBack();
    this.least = memory.resident();
    this.log.debug({ residentBytes: this.least, givenBackBytes: resident - this.least }, 'memory was given back');
  }
}

/** This process. */
export function ownMemory(): ProcessMemory {
  let giveBack: (() => void) | undefined;
  return {
    resident: () => memoryUsage.rss(),
    cpu: () => {
      const { user, system } = cpuUsage();
      return (user + system) / 1000;
    },
    // Made when it is first needed: the start of the daemon does not wait for it.
    giveBack: () => (giveBack ??= collectionAndTrim())(),
  };
}

/** A whole collection of V8's heap, then the free parts of malloc's. */
function collectionAndTrim(): () => void {
  // There is no other way to a collection without a flag on the command line, which an executable of its own does not have.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const trim = mallocTrim();
  return () => {
    collect();
    trim();
  };
}

/** Another thread would not help: whoever asks for memory meanwhile waits for it. The C library of musl has none. */
function mallocTrim(): () => void {
  try {
    const trim = koffi.load(null).func('int malloc_trim(size_t pad)') as unknown as (pad: number) => number;
    return () => trim(0);
  } catch {
    return () => undefined;
  }
}
