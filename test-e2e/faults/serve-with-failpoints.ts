import { connectCri } from '@criquet/cri-api';
import { runCommand } from '@criquet/cli';
import { startShimServer } from '@criquet/shim-server';
import { text } from 'node:stream/consumers';
import { ArmedFailpoints } from './armed-failpoints.js';
import { collectGarbageOnSignal } from './collect-garbage.js';
import { FailpointFiles } from './failpoint-file.js';

// The `criquet` command, whose daemon has failpoints: those of the directory that CRIQUET_FAILPOINTS names.

const directory = process.env.CRIQUET_FAILPOINTS;
if (directory === undefined) throw new Error('CRIQUET_FAILPOINTS is not set');
const failpoints = new ArmedFailpoints(new FailpointFiles(directory), killThisProcess);

collectGarbageOnSignal();

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort());

process.exitCode = await runCommand(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: interruption.signal,
  connect: connectCri,
  readStdin: () => text(process.stdin),
  startServer: (options) => startShimServer({ ...options, replacements: { failpoints } }),
});

function killThisProcess(): void {
  process.kill(process.pid, 'SIGKILL');
  // The signal is on its way; nothing more happens here until it comes.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
