import type { Test } from 'tap';
import { connectContainerd, encodeSpec, type ConnectOptions, type Containerd, type NewContainer, type RuntimeSpec } from '../../src/index.js';
import { FakeContainerd, type FakeContainerdOptions } from '../../src/testing/index.js';

export const NAMESPACE = 'test';

/** A fake containerd and a client of it, both gone when the test ends. */
export async function fixture(
  t: Test,
  options: FakeContainerdOptions & Partial<ConnectOptions> = {},
): Promise<{ fake: FakeContainerd; client: Containerd }> {
  const fake = await FakeContainerd.start(options);
  const client = connectContainerd({ namespace: NAMESPACE, defaultTimeoutMs: 5000, ...options, address: fake.address });
  t.teardown(async () => {
    client.close();
    await fake.close();
  });
  return { fake, client };
}

export const spec: RuntimeSpec = {
  ociVersion: '1.2.0',
  process: { user: { uid: 0, gid: 0 }, args: ['sleep', '1'], cwd: '/' },
};

export function container(id: string, more: Partial<NewContainer> = {}): NewContainer {
  return { id, runtime: { name: 'io.containerd.runc.v2' }, spec: encodeSpec(spec), ...more };
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Resolves when `condition` holds; fails the test after two seconds. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 2000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`still waiting for ${what}`);
    await sleep(2);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
