import type { CgroupSample } from './cgroup-samples.js';
import type { Memory } from './cgroup/memory.js';

/**
 * The figures of several cgroups together. A limit or a rate is there only when each of them has one; pressure does not add up
 * and is left out, as is swap, which CRI does not know of pods.
 */
export function sumSamples(samples: readonly CgroupSample[]): CgroupSample | undefined {
  const [first, ...more] = samples;
  if (first === undefined) return undefined;
  const { swap: _, ...figures } = first;
  return more.reduce(add, { ...figures, pressure: {} });
}

function add(a: CgroupSample, b: CgroupSample): CgroupSample {
  const cpuUsage = both(a.cpuUsage, b.cpuUsage);
  const memory = a.memory && b.memory && addMemory(a.memory, b.memory);
  const nanoCores = both(a.nanoCores, b.nanoCores);
  return {
    at: a.at > b.at ? a.at : b.at,
    ...(cpuUsage === undefined ? {} : { cpuUsage }),
    ...(nanoCores === undefined ? {} : { nanoCores }),
    ...(memory === undefined ? {} : { memory }),
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
