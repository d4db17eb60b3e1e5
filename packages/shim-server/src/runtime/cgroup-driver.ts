import { access } from 'node:fs/promises';
import type { CriquetConfig } from '../config/index.js';

export type CgroupDriver = 'cgroupfs' | 'systemd';

/**
 * The driver that the default handler's cgroups are made with: as configured, or systemd where systemd is process 1 and
 * the cgroup tree is unified.
 */
export async function cgroupDriver(config: CriquetConfig): Promise<CgroupDriver> {
  const configured = config.runtime.handlers[config.runtime.defaultHandler]?.systemdCgroup;
  const systemd = configured ?? ((await present('/run/systemd/system')) && (await present('/sys/fs/cgroup/cgroup.controllers')));
  return systemd ? 'systemd' : 'cgroupfs';
}

function present(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
