import type { CriquetConfig } from '../config/index.js';
import { pathExists } from './path-exists.js';

export type CgroupDriver = 'cgroupfs' | 'systemd';

/**
 * The driver that the default handler's cgroups are made with: as configured, or systemd where systemd is process 1 and
 * the cgroup tree is unified.
 */
export async function cgroupDriver(config: CriquetConfig): Promise<CgroupDriver> {
  const configured = config.runtime.handlers[config.runtime.defaultHandler]?.systemdCgroup;
  const systemd = configured ?? ((await pathExists('/run/systemd/system')) && (await pathExists('/sys/fs/cgroup/cgroup.controllers')));
  return systemd ? 'systemd' : 'cgroupfs';
}
