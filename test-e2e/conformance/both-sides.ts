import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Call } from './call.js';
import { differences } from './difference.js';
import { writeDocument } from './document.js';
import { writeRecord } from './record.js';
import { joinSides, readSide } from './side.js';
import { formatTable } from './table.js';

/** Runs a suite on both runtimes at the same time, each in a network of its own: most of the time they wait. */
export async function runSidesAtOnce({ suite, engine, runtimes, focus, procs, minutes }: Call): Promise<void> {
  const codes = await Promise.all(
    runtimes.map((runtime) => {
      const options = { suite: suite.name, engine, runtime, procs, minutes, ...(focus === undefined ? {} : { focus }) };
      return runSelf(Object.entries(options).map(([name, value]) => `--${name}=${value}`));
    }),
  );
  if (codes.some((code) => code !== 0)) throw new Error('a side did not come to its end');
}

/** Compares what the last runs on both left, prints it and, if wanted, records it. The exit code tells of what only containerd's plugin passes. */
export async function compareSides({ suite, results }: Call, update: boolean): Promise<void> {
  const record = joinSides(suite.name, await readSide(results, 'criquet'), await readSide(results, 'containerd'));
  process.stdout.write(`\n${formatTable(record)}\n`);
  if (update) {
    process.stdout.write(`recorded: ${await writeRecord(record)}\n`);
    await writeDocument();
  }
  if (differences(record).some(({ favour }) => favour === 'containerd')) process.exitCode = 1;
}

function runSelf(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'main.js'), ...args], { stdio: 'inherit' });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
