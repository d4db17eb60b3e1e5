import { existsSync } from 'node:fs';
import { posix } from 'node:path';

/** Who makes the cgroups of pods on this machine. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

/** systemd where it is process 1 and the cgroup tree is unified: what criquet finds out by itself, and a kubelet is configured with. */
export const cgroupDriver: CgroupDriver =
  existsSync('/run/systemd/system') && existsSync('/sys/fs/cgroup/cgroup.controllers') ? 'systemd' : 'cgroupfs';

/**
 * A pod's `cgroup_parent` in the driver's form: `/parent/name`, or `/parent.slice/parent-name.slice` with the slices that
 * systemd derives from dashes, as the kubelet sends them.
 */
export function cgroupParentOf(parent: string, name = '', driver: CgroupDriver = cgroupDriver): string {
  if (driver === 'cgroupfs') return posix.join('/', parent, name);
  const parts = [...parent.split('-'), ...(name === '' ? [] : [name])];
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('-')}.slice`).join('');
}
