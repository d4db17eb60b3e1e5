import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { BurstOrder, BurstResult } from './burst.js';

/** The process of `main.ts`: what makes calls as fast as it can shares no event loop with what watches. */
export class Caller implements Disposable {
  private readonly child: ChildProcess = fork(join(import.meta.dirname, 'main.js'));

  /** @throws when a call failed, or the process ended */
  async burst(order: BurstOrder): Promise<BurstResult> {
    const cancelled = new AbortController();
    const { signal } = cancelled;
    try {
      this.child.send(order);
      const answer = once(this.child, 'message', { signal }).then(([reply]: { result?: BurstResult; error?: string }[]) => reply);
      const ended = once(this.child, 'exit', { signal }).then(() => ({ result: undefined, error: 'the caller has ended' }));
      const { result, error } = (await Promise.race([answer, ended])) ?? {};
      if (result === undefined) throw new Error(error ?? 'the caller said nothing');
      return result;
    } finally {
      cancelled.abort();
    }
  }

  [Symbol.dispose](): void {
    this.child.kill();
  }
}
