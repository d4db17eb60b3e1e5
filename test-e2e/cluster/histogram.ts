/** A histogram of Prometheus: what it has counted, and the greatest values of its buckets. */
export interface Histogram {
  readonly count: number;
  readonly sum: number;
  /** In ascending order, each with the number of values up to it. The last limit is infinite. */
  readonly buckets: readonly { readonly limit: number; readonly count: number }[];
}

/** Reads a histogram without labels of its own from an answer of `/metrics`. Throws when it is not there. */
export function readHistogram(text: string, name: string): Histogram {
  const value = (suffix: string): number => {
    const found = new RegExp(`^${name}_${suffix} (\\S+)$`, 'm').exec(text)?.[1];
    if (found === undefined) throw new Error(`no ${name}_${suffix}`);
    return Number(found);
  };
  const buckets = [...text.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"\\} (\\S+)$`, 'gm'))].map(([, limit, count]) => ({
    limit: limit === '+Inf' ? Number.POSITIVE_INFINITY : Number(limit),
    count: Number(count),
  }));
  return { count: value('count'), sum: value('sum'), buckets };
}

/** The limit of the first bucket that holds this share of the values. */
export function quantileLimit({ count, buckets }: Histogram, share: number): number {
  return buckets.find((bucket) => bucket.count >= share * count)?.limit ?? Number.NaN;
}
