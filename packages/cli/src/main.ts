#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node --max-semi-space-size=2
import { connectCri } from '@criquet/cri-api';
import { writeSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { runCommand } from './program.js';
import { withSourcePositions } from './stack/source-positions.js';

const interruption = new AbortController();

// The first signal asks for an orderly end, a second one does not wait for it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interruption.signal.aborted) process.exit(130);
    interruption.abort();
  });
}

// `criquet pod logs … | head`: a reader that has enough is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    writeSync(2, `criquet: cannot write: ${error.message}\n`);
    process.exit(1);
  });
}

// Node prints what ends the process after this.
process.on('uncaughtExceptionMonitor', (error) => {
  if (typeof error?.stack === 'string') error.stack = withSourcePositions(error.stack);
});

void runCommand(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: interruption.signal,
  connect: connectCri,
  readStdin: () => text(process.stdin),
}).then((code) => {
  process.exitCode = code;
});
