import type { PsiData, PsiStats } from '@criquet/cri-api';
import type { CgroupFiles } from './cgroup-files.js';

/** The v2 hierarchy of a hybrid set-up, where systemd and runc mount and use it: it has no controllers, but it has pressure. */
const HYBRID = 'unified';

const SOME = lineOf('some');
const FULL = lineOf('full');

/**
 * Pressure stall information of a cgroup (kernel documentation, accounting/psi). Absent where the kernel keeps none
 * (CONFIG_PSI, `psi=0`, cgroup v1 without a v2 hierarchy beside it).
 */
export function readPressure(files: CgroupFiles, resource: 'cpu' | 'memory' | 'io'): PsiStats | undefined {
  const text = files.text(HYBRID, `${resource}.pressure`);
  return text === undefined ? undefined : parsePressure(text);
}

/** `some avg10=0.12 avg60=0.00 avg300=0.00 total=1234`, in per cent and microseconds; CRI counts in nanoseconds. */
export function parsePressure(text: string): PsiStats | undefined {
  const Some = data(SOME.exec(text));
  const Full = data(FULL.exec(text));
  return Some === undefined && Full === undefined ? undefined : { Some, Full };
}

function lineOf(name: string): RegExp {
  return new RegExp(`^${name} avg10=([\\d.]+) avg60=([\\d.]+) avg300=([\\d.]+) total=(\\d+)$`, 'm');
}

function data(match: RegExpExecArray | null): PsiData | undefined {
  if (match === null) return undefined;
  const [, avg10, avg60, avg300, total] = match;
  return { Total: BigInt(total ?? 0) * 1000n, Avg10: Number(avg10), Avg60: Number(avg60), Avg300: Number(avg300) };
}
