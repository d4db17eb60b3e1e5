import type { PsiStats } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { LoopTurns } from '../runtime/loop-turns.js';
import { unixNanos } from '../state/clock.js';
import type { CgroupFiles } from './cgroup/cgroup-files.js';
import { readCpuUsage } from './cgroup/cpu.js';
import { readMemory, type Memory } from './cgroup/memory.js';
import { readPressure } from './cgroup/pressure.js';
import { readProcesses } from './cgroup/processes.js';
import { readSwap, type Swap } from './cgroup/swap.js';
import { cpuRate, type CpuPoint } from './cpu-rate.js';

/** The figures of a cgroup at one moment. What the kernel does not tell is absent. */
export interface CgroupSample {
  /** Unix time in nanoseconds. */
  readonly at: bigint;
  /** CPU time in nanoseconds, cumulative. */
  readonly cpuUsage?: bigint;
  /** CPU nanoseconds a second since the sample before this one. */
  readonly nanoCores?: bigint;
  readonly memory?: Memory;
  /** Of containers: CRI knows none of pods. */
  readonly swap?: Swap;
  readonly pressure: { readonly cpu?: PsiStats; readonly memory?: PsiStats; readonly io?: PsiStats };
  /** Process ids as the daemon's PID namespace counts them; read when they are asked for first. */
  readonly processes: () => Promise<readonly number[]>;
}

/**
 * How long a sample is shared between calls. It is also the shortest window of a CPU rate, so that clients that ask often neither
 * cost more nor see the noise of short windows.
 */
const MAX_AGE_MS = 1_000;

interface Kept {
  readonly takenAt: number;
  readonly sample: Promise<CgroupSample>;
  /** The CPU time of this sample, once it is read. */
  point?: CpuPoint;
}

/** Reads cgroups, each at most once a second, whoever asks. */
@scoped(Lifecycle.ContainerScoped)
export class CgroupSamples {
  private readonly kept = new Map<string, Kept>();

  constructor(@inject(LoopTurns) private readonly turns: LoopTurns) {}

  /**
   * @param key of what the cgroup belongs to
   * @param withSwap whether swap is read; the same for every call with that key
   */
  of(key: string, files: CgroupFiles, { withSwap }: { readonly withSwap: boolean }): Promise<CgroupSample> {
    const before = this.kept.get(key);
    if (before !== undefined && performance.now() - before.takenAt < MAX_AGE_MS) return before.sample;
    const kept: Kept = {
      takenAt: performance.now(),
      sample: this.read(files, withSwap, before?.point, (point) => (kept.point = point)),
    };
    this.kept.set(key, kept);
    return kept.sample;
  }

  forget(key: string): void {
    this.kept.delete(key);
  }

  private async read(files: CgroupFiles, withSwap: boolean, before: CpuPoint | undefined, note: (point: CpuPoint) => void): Promise<CgroupSample> {
    const figures = await this.turns.run(() => readFigures(files, withSwap, before, note));
    let processes: Promise<readonly number[]> | undefined;
    return { ...figures, processes: () => (processes ??= readProcesses(files, this.turns)) };
  }
}

function readFigures(
  files: CgroupFiles,
  withSwap: boolean,
  before: CpuPoint | undefined,
  note: (point: CpuPoint) => void,
): Omit<CgroupSample, 'processes'> {
  const at = unixNanos();
  const clock = process.hrtime.bigint();
  const cpuUsage = readCpuUsage(files);
  const memory = readMemory(files);
  const swap = withSwap ? readSwap(files, memory) : undefined;
  const cpuPressure = readPressure(files, 'cpu');
  // The kernel keeps all three of a cgroup or none.
  const [memoryPressure, ioPressure] = cpuPressure === undefined ? [] : [readPressure(files, 'memory'), readPressure(files, 'io')];
  const point = cpuUsage === undefined ? undefined : { at: clock, usage: cpuUsage };
  if (point !== undefined) note(point);
  const nanoCores = point === undefined ? undefined : cpuRate(before, point);
  return {
    at,
    ...(cpuUsage === undefined ? {} : { cpuUsage }),
    ...(nanoCores === undefined ? {} : { nanoCores }),
    ...(memory === undefined ? {} : { memory }),
    ...(swap === undefined ? {} : { swap }),
    pressure: {
      ...(cpuPressure === undefined ? {} : { cpu: cpuPressure }),
      ...(memoryPressure === undefined ? {} : { memory: memoryPressure }),
      ...(ioPressure === undefined ? {} : { io: ioPressure }),
    },
  };
}
