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
export function readHugePages(files: CgroupFiles, pageSizes: readonly string[]): HugePages[] {
  const v2 = files.version === 'v2';
  return pageSizes.flatMap((pageSize) => {
    const usage = files.number('hugetlb', `hugetlb.${pageSize}.${v2 ? 'current' : 'usage_in_bytes'}`);
    const maxUsage = v2 ? undefined : files.number('hugetlb', `hugetlb.${pageSize}.max_usage_in_bytes`);
    return usage === undefined ? [] : [{ pageSize, usage, ...(maxUsage === undefined ? {} : { maxUsage }) }];
  });
}
