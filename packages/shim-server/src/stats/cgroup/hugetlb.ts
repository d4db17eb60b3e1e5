import type { CgroupFiles } from './cgroup-files.js';

/** Huge pages of one size that a cgroup uses, in bytes. */
export interface HugePages {
  /** `2MB`, `1GB`, as CRI and the kernel's files name it. */
  readonly pageSize: string;
  readonly usage: bigint;
  /** The most there was at once; v2 keeps no such figure. */
  readonly maxUsage?: bigint;
}

/** @param pageSizes of the node */
export async function readHugePages(files: CgroupFiles, pageSizes: readonly string[]): Promise<HugePages[]> {
  const v2 = files.version === 'v2';
  const found = await Promise.all(
    pageSizes.map(async (pageSize): Promise<HugePages | undefined> => {
      const [usage, maxUsage] = await Promise.all([
        files.number('hugetlb', `hugetlb.${pageSize}.${v2 ? 'current' : 'usage_in_bytes'}`),
        v2 ? undefined : files.number('hugetlb', `hugetlb.${pageSize}.max_usage_in_bytes`),
      ]);
      if (usage === undefined) return undefined;
      return { pageSize, usage, ...(maxUsage === undefined ? {} : { maxUsage }) };
    }),
  );
  return found.filter((pages) => pages !== undefined);
}
