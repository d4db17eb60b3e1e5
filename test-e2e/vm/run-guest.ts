import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { access, mkdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { copyWithJournal, JOB_LABEL, makeDisk, makeEmptyDisk, readDisk, RESULTS_LABEL } from './disk.js';
import { qemuCommand, umlCommand, type GuestCommand, type GuestDisks, type GuestKernel } from './guest-kernel.js';
import { POWER_CUT, RESULT_FILES } from './guest-job.js';

export interface GuestRun {
  readonly kernel: GuestKernel;
  /** Image of the guest's system; not written. */
  readonly image: string;
  /** `vmlinuz`, or the user-mode Linux program. */
  readonly kernelFile: string;
  /** What the job's disk holds; `run` in it is executed as root. */
  readonly jobDirectory: string;
  /** A directory of the run's own for disks and memory; removed at the end. */
  readonly workDirectory: string;
  /** Where the results and the console's output go. */
  readonly resultsDirectory: string;
  /** Milliseconds after which the guest is ended, counted anew at each boot. */
  readonly timeoutMs: number;
  /**
   * Whether its power can be cut: its system is a copy with a journal, and when the job prints `POWER_CUT` the guest is gone at once, with all that it
   * has not written yet, and is booted again on the disks that are left. Default: the system is thrown away after one boot.
   */
  readonly powerCut?: boolean;
  /** Called with each line on the guest's console. */
  readonly onLine?: (line: string) => void;
}

/** How a guest ended. */
export interface GuestEnd {
  /** Exit code of the job; undefined when the guest ended before it. */
  readonly exitCode: number | undefined;
  readonly seconds: number;
  /** How often it was started. */
  readonly boots: number;
}

const RESULTS_MIB = 512;

/** Boots a guest, which runs its job and turns itself off, and copies what it left on its results disk. */
export async function runGuest(run: GuestRun): Promise<GuestEnd> {
  const begun = performance.now();
  const ownSystem = run.powerCut === true;
  const disks: GuestDisks = {
    system: ownSystem ? join(run.workDirectory, 'system.ext4') : run.image,
    ownSystem,
    job: join(run.workDirectory, 'job.ext4'),
    results: join(run.workDirectory, 'results.ext4'),
  };
  await mkdir(run.workDirectory, { recursive: true });
  try {
    if (ownSystem) await copyWithJournal(run.image, disks.system);
    await makeDisk(disks.job, JOB_LABEL, run.jobDirectory);
    await makeEmptyDisk(disks.results, RESULTS_LABEL, RESULTS_MIB);
    const console: string[] = [];
    for (let boots = 1; ; boots++) {
      const lines = await boot(run, disks);
      console.push(...lines);
      if (ownSystem && lines.some(isPowerCut)) continue;
      await rm(run.resultsDirectory, { recursive: true, force: true });
      await readDisk(disks.results, run.resultsDirectory);
      await writeConsole(run.resultsDirectory, console);
      const exitCode = await readExitCode(run.resultsDirectory);
      if (exitCode === undefined && boots < 3 && isEmulatorFault(run.kernel, lines)) continue;
      return { exitCode, seconds: (performance.now() - begun) / 1000, boots };
    }
  } finally {
    await rm(run.workDirectory, { recursive: true, force: true });
  }
}

function isPowerCut(line: string): boolean {
  return line.includes(POWER_CUT);
}

/** Multi-threaded emulation in QEMU 7.2 sometimes executes a half patched instruction, on which the kernel dies at boot. */
function isEmulatorFault(kernel: GuestKernel, console: readonly string[]): boolean {
  return kernel === 'qemu' && console.some((line) => line.includes('int3'));
}

/** Runs the kernel until it ends; returns the lines of its console. */
async function boot(run: GuestRun, disks: GuestDisks): Promise<string[]> {
  const { program, args } = command(run, disks);
  const child = spawn(program, [...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its memory is a file below TMPDIR: on a file system in memory, or every page would go to a disk.
    env: { ...process.env, TMPDIR: run.kernel === 'uml' ? '/dev/shm' : run.workDirectory },
    // A process group of its own: user-mode Linux is one process for each of the guest's.
    detached: true,
  });
  const lines: string[] = [];
  const end = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  const read = (stream: NodeJS.ReadableStream): void => {
    createInterface({ input: stream }).on('line', (line) => {
      const text = withoutControls(line);
      lines.push(text);
      run.onLine?.(text);
      if (run.powerCut === true && isPowerCut(text)) end();
    });
  };
  read(child.stdout);
  read(child.stderr);
  const late = setTimeout(() => {
    lines.push(`the guest was ended after ${run.timeoutMs / 1000} s`);
    end();
  }, run.timeoutMs);
  process.once('exit', end);
  try {
    await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  } finally {
    clearTimeout(late);
    process.removeListener('exit', end);
    end();
  }
  return lines;
}

/** A console line without what a terminal would obey: escape sequences (ECMA-48: CSI and OSC) and carriage returns. */
function withoutControls(line: string): string {
  return line.replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)|\r/g, '');
}

function command(run: GuestRun, disks: GuestDisks): GuestCommand {
  const cpus = availableParallelism();
  return run.kernel === 'qemu'
    ? qemuCommand(run.kernelFile, disks, { cpus: Math.min(cpus, 4), memoryMib: 3072 })
    : umlCommand(run.kernelFile, disks, { cpu: cpus - 1, memoryMib: 3072 }, run.workDirectory);
}

async function writeConsole(directory: string, lines: readonly string[]): Promise<void> {
  const stream = createWriteStream(join(directory, 'console.log'));
  stream.end(`${lines.join('\n')}\n`);
  await new Promise<void>((resolve, reject) => stream.once('close', () => resolve()).once('error', reject));
}

async function readExitCode(directory: string): Promise<number | undefined> {
  const file = join(directory, RESULT_FILES.exitCode);
  const there = await access(file).then(
    () => true,
    () => false,
  );
  return there ? Number.parseInt(await readFile(file, 'utf8'), 10) : undefined;
}
