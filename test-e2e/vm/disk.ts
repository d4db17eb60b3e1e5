import { mkdir, rm } from 'node:fs/promises';
import { run } from '../harness/run.js';

const MIB = 1024 * 1024;

/** Labels by which the guest finds its disks. */
export const JOB_LABEL = 'criquet-job';
export const RESULTS_LABEL = 'criquet-results';

/** Makes an ext4 image that holds a directory, without mounting anything. */
export async function makeDisk(image: string, label: string, directory: string): Promise<void> {
  const used = Number.parseInt(await run('du', ['--summarize', '--block-size=1', '--apparent-size', directory]), 10);
  // Inodes and block tails come on top: a third more is room enough for small files, and the image is sparse.
  await makeExt4(image, label, Math.ceil((used * 4) / 3 / MIB) + 64, ['-d', directory]);
}

/** Makes an empty one. */
export async function makeEmptyDisk(image: string, label: string, mebibytes: number): Promise<void> {
  await makeExt4(image, label, mebibytes, []);
}

/** Copies an ext4 image, and gives it the journal with which it stays whole when the power is cut. */
export async function copyWithJournal(image: string, copy: string): Promise<void> {
  await run('cp', ['--sparse=always', '--reflink=auto', image, copy], { timeoutMs: 120_000 });
  await run('tune2fs', ['-O', 'has_journal', copy]);
}

/** Copies everything on an ext4 image into a directory; also what an interrupted guest left there. */
export async function readDisk(image: string, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await run('debugfs', ['-R', `rdump / ${directory}`, image]);
  await rm(`${directory}/lost+found`, { recursive: true, force: true });
}

async function makeExt4(image: string, label: string, mebibytes: number, more: readonly string[]): Promise<void> {
  await rm(image, { force: true });
  const features = ['-O', '^has_journal', '-E', 'root_owner=0:0,lazy_itable_init=1', '-m', '0', '-L', label];
  await run('mke2fs', ['-q', '-F', '-t', 'ext4', ...features, ...more, image, `${mebibytes}M`], { timeoutMs: 120_000 });
}
