import type { BurstResult } from './burst.js';

/** What the client's own part of its calls took, so that nobody takes its limit for a server's. */
export class ClientCost {
  private readonly byPath = new Map<string, { calls: number; cpuSeconds: number }>();

  add(path: string, { calls, cpuSeconds }: BurstResult): void {
    const before = this.byPath.get(path) ?? { calls: 0, cpuSeconds: 0 };
    this.byPath.set(path, { calls: before.calls + calls, cpuSeconds: before.cpuSeconds + cpuSeconds });
  }

  /** Calls for each second of the client's CPU, by the name of the call, over all bursts. */
  callsPerSecond(): Record<string, number> {
    return Object.fromEntries([...this.byPath].map(([path, { calls, cpuSeconds }]) => [path.replace(/^.*\//, ''), Math.round(calls / cpuSeconds)]));
  }
}
