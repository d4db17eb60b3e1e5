import { access, readFile } from 'node:fs/promises';
import { arch, availableParallelism, cpus, release, totalmem } from 'node:os';

/** What a reader must know of the machine; nothing that names it. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly architecture: string;
  /** In GB, 10^9 bytes. */
  readonly memory: number;
  readonly kernel: string;
  readonly system: string;
  readonly cgroups: 'v1' | 'v2';
}

export async function describeMachine(): Promise<Machine> {
  const osRelease = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const unified = await access('/sys/fs/cgroup/cgroup.controllers').then(
    () => true,
    () => false,
  );
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    architecture: arch(),
    memory: Math.round(totalmem() / 1e9),
    // The version alone: what follows it is a builder's own.
    kernel: /^\d+(\.\d+)*/.exec(release())?.[0] ?? release(),
    system: /^PRETTY_NAME="?(.*?)"?$/m.exec(osRelease)?.[1] ?? 'Linux',
    cgroups: unified ? 'v2' : 'v1',
  };
}
