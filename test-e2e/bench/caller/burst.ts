import { RawClient, type RawRequest } from './raw-client.js';

/** Calls as fast as they are answered. */
export interface BurstOrder {
  readonly socketPath: string;
  readonly path: RawRequest['path'];
  /** The request's message in base64. */
  readonly message: string;
  /** How many calls are under way at any time. */
  readonly callers: number;
  readonly milliseconds: number;
}

export interface BurstResult {
  readonly calls: number;
  readonly seconds: number;
  /** CPU that the client itself took: calls divided by it are what it could make at most. */
  readonly cpuSeconds: number;
}

/** @throws when a call fails, or is not answered as the first one was: by a message of that length, to a hundredth */
export async function burst({ socketPath, path, message, callers, milliseconds }: BurstOrder): Promise<BurstResult> {
  const client = await RawClient.connect(socketPath);
  try {
    const request = { path, message: Buffer.from(message, 'base64') };
    const { length } = await client.call(request);
    let calls = 0;
    const cpuBefore = process.cpuUsage();
    const began = performance.now();
    const caller = async () => {
      while (performance.now() - began < milliseconds) {
        const reply = await client.call(request);
        if (Math.abs(reply.length - length) > length / 100) throw new Error(`${path}: ${reply.length} bytes, where it was ${length}`);
        calls += 1;
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    const seconds = (performance.now() - began) / 1000;
    const { user, system } = process.cpuUsage(cpuBefore);
    return { calls, seconds, cpuSeconds: (user + system) / 1e6 };
  } finally {
    client.close();
  }
}
