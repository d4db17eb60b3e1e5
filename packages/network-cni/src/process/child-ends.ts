import { posixSpawn } from './posix-spawn.js';
import { UNKNOWN_END, type ProcessEnd } from './wait-status.js';

/** Milliseconds between looks that no signal asks for. */
const LOOK_MS = 250;

/**
 * Notices the ends of children that libuv does not know. It waits for each by its pid, as libuv does for its own, so that neither takes
 * the other's. SIGCHLD tells of an end; it may be one signal for several children, and none comes in a worker thread, so there is a slow
 * timer too. Both are there only while children are started or live, and the timer holds the event loop as long.
 */
class ChildEnds {
  readonly #living = new Map<number, (end: ProcessEnd) => void>();
  #starting = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Starts a child and tells its end, not before this returns.
   *
   * @param spawn answers its pid
   */
  async start(spawn: () => Promise<number>, onEnd: (end: ProcessEnd) => void): Promise<number> {
    this.#starting += 1;
    this.#listen();
    try {
      const pid = await spawn();
      // Somebody else has waited for the one before, or its pid would not be free.
      this.#living.get(pid)?.(UNKNOWN_END);
      this.#living.set(pid, onEnd);
      // Its end may have been told before its pid was known.
      setImmediate(() => this.look(pid));
      return pid;
    } finally {
      this.#starting -= 1;
      this.#rest();
    }
  }

  /** Looks now whether a child has ended. */
  look(pid: number): void {
    const onEnd = this.#living.get(pid);
    if (onEnd === undefined) return;
    const end = posixSpawn().wait(pid);
    if (end === undefined) return;
    this.#living.delete(pid);
    this.#rest();
    onEnd(end);
  }

  readonly #lookAtAll = (): void => {
    for (const pid of [...this.#living.keys()]) this.look(pid);
  };

  #listen(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(this.#lookAtAll, LOOK_MS);
    process.on('SIGCHLD', this.#lookAtAll);
  }

  #rest(): void {
    if (this.#living.size + this.#starting > 0) return;
    process.off('SIGCHLD', this.#lookAtAll);
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

export const childEnds = new ChildEnds();
