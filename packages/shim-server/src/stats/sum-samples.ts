import type { CgroupSample } from './cgroup-samples.js';
import type { Memory } from './cgroup/memory.js';

/**
 * The figures of several cgroups together. A limit or a rate is there only when each of them has one; pressure does not add up
 * and is left out.
 */
export function sumSamples(samples: readonly CgroupSample[]): CgroupSample | undefined {
  const [first, ...more] = samples;
  return first === undefined ? undefined : more.reduce(add, { ...first, pressure: {} });
}

function add(a: CgroupSample, b: CgroupSample): CgroupSample {
  const cpu = a.cpu && b.cpu && addFields(a.cpu, b.cpu);
  const memory = a.memory && b.memory && addMemory(a.memory, b.memory);
  const swapLimit = both(a.swap?.limit, b.swap?.limit);
  const nanoCores = both(a.nanoCores, b.nanoCores);
  return {
    at: a.at > b.at ? a.at : b.at,
    ...(cpu === undefined ? {} : { cpu }),
    ...(nanoCores === undefined ? {} : { nanoCores }),
    ...(memory === undefined ? {} : { memory }),
    ...(a.swap === undefined || b.swap === undefined
      ? {}
      : { swap: { usage: a.swap.usage + b.swap.usage, ...(swapLimit === undefined ? {} : { limit: swapLimit }) } }),
    pressure: {},
    processes: async () => (await Promise.all([a.processes(), b.processes()])).flat(),
  };
}

function addMemory({ limit: aLimit, ...a }: Memory, { limit: bLimit, ...b }: Memory): Memory {
  const limit = both(aLimit, bLimit);
  return { ...addFields(a, b), ...(limit === undefined ? {} : { limit }) };
}

function addFields<T extends { readonly [K in keyof T]: bigint }>(a: T, b: T): T {
  return Object.fromEntries(Object.keys(a).map((key) => [key, a[key as keyof T] + b[key as keyof T]])) as T;
}

function both(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}
