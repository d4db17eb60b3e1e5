import type { Operation } from './operation.js';

/**
 * Who may run beside whom (SPEC.md section 3, "Lifecycle & Ordering"): operations on different containers together, those on one
 * container one after the other, GC alone.
 *
 * GC waits for a moment in which nothing runs and does not hold up new operations meanwhile: one hanging plugin must not stop every
 * pod of the node. On a node that is never quiet GC therefore times out; its caller tries again later.
 */
export class OperationLock {
  readonly #tails = new Map<string, Promise<void>>();
  #running = 0;
  #idle: Gate | undefined;
  #alone: Gate | undefined;

  /** Runs `work` when no other work of the same container runs, nor GC. */
  async shared<T>(containerId: string, operation: Operation, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(containerId) ?? Promise.resolve();
    const done = new Gate();
    // a waiter that gives up must not let its successor overtake who runs
    const tail = before.then(() => done.opened);
    this.#tails.set(containerId, tail);
    try {
      await operation.wait(before);
      while (this.#alone !== undefined) await operation.wait(this.#alone.opened);
      this.#running += 1;
      try {
        return await work();
      } finally {
        this.#running -= 1;
        if (this.#running === 0) {
          this.#idle?.open();
          this.#idle = undefined;
        }
      }
    } finally {
      done.open();
      void tail.then(() => {
        if (this.#tails.get(containerId) === tail) this.#tails.delete(containerId);
      });
    }
  }

  /** Runs `work` when nothing else runs; nothing begins until it ends. */
  async exclusive<T>(operation: Operation, work: () => Promise<T>): Promise<T> {
    while (this.#alone !== undefined || this.#running > 0) {
      const gate = this.#alone ?? (this.#idle ??= new Gate());
      await operation.wait(gate.opened);
    }
    const alone = (this.#alone = new Gate());
    try {
      return await work();
    } finally {
      this.#alone = undefined;
      alone.open();
    }
  }
}

/** A promise that is resolved from outside. */
class Gate {
  readonly opened: Promise<void>;
  #open: () => void = () => undefined;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }
}
