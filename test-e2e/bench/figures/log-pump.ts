import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { patience } from '../../harness/environment.js';
import { atLeast, type Figure } from '../figure.js';
import { Pod } from '../pod.js';

/** With its newline. */
const LINE_BYTES = 80;
const POLL_MS = 2;
/** Before a line in the CRI format: a time of at least 20 characters (the seconds may have no fraction), the stream and the tag. */
const LEAST_HEAD_BYTES = '2026-11-30T00:00:00Z stdout F '.length;
const LONGEST_MS = 120_000;

export const logPump: Figure = {
  name: 'log-pump',
  title: 'Log pump',
  about: `A container writes numbered lines of 80 bytes as fast as it can (\`cat\` of a file): megabytes of its output, without what a log record adds, divided by the time from its first
byte until the log file has the last one. Every line is then looked for: one that is missing or wrong fails the run.`,
  measures: [{ name: 'log-pump', title: 'log pump, 80-byte lines', unit: 'MB/s', better: 'more', target: atLeast(2.5) }],
  stages: [
    {
      scene: 5,
      rounds: 10,
      warmUps: 1,
      begin: async (side, scale) => {
        const lines = scale.pick(500_000, 20_000);
        const shared = await mkdtemp(join(side.node.directory, 'lines-'));
        await writeFile(join(shared, 'lines'), Array.from({ length: lines }, (_, index) => lineOf(index + 1)).join(''));
        const gate = join(shared, 'go');
        return {
          async sample() {
            await rm(gate, { force: true });
            const pod = await Pod.start(side, {
              command: ['sh', '-c', 'while [ ! -e /shared/go ]; do usleep 500; done; exec cat /shared/lines'],
              mounts: [{ containerPath: '/shared', hostPath: shared, readonly: true }],
            });
            await pause(200);
            await writeFile(gate, '');
            const began = await untilBytes(pod, 1);
            const ended = await untilBytes(pod, lines * (LINE_BYTES + LEAST_HEAD_BYTES), () => lastLineIsThere(pod, lines));
            await requireEveryLine(pod.logFile, lines);
            await pod.remove();
            return { 'log-pump': (lines * LINE_BYTES) / 1e6 / ((ended - began) / 1000) };
          },
          end: () => rm(shared, { recursive: true }),
        };
      },
    },
  ],
};

function lineOf(number: number): string {
  return `${String(number).padStart(9, '0')} ${'abcdefghij'.repeat(7)}`.slice(0, LINE_BYTES - 1) + '\n';
}

/** The time at which the log has so many bytes, and what `holds` asks for. */
async function untilBytes(pod: Pod, bytes: number, holds: () => Promise<boolean> = async () => true): Promise<number> {
  const end = performance.now() + patience(LONGEST_MS);
  for (;;) {
    const size = await pod.logBytes();
    const now = performance.now();
    if (size >= bytes && (await holds())) return now;
    if (now > end) throw new Error(`the log has ${size} bytes after ${LONGEST_MS / 1000} s, and not the last line`);
    await pause(POLL_MS);
  }
}

async function lastLineIsThere(pod: Pod, lines: number): Promise<boolean> {
  const size = await pod.logBytes();
  const expected = lineOf(lines);
  let tail = '';
  for await (const chunk of createReadStream(pod.logFile, { start: size - LINE_BYTES })) tail += String(chunk);
  return tail.endsWith(expected);
}

/** @throws naming the first line that is missing, wrong, or there twice */
async function requireEveryLine(file: string, lines: number): Promise<void> {
  let number = 0;
  for await (const record of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number += 1;
    if (!record.endsWith(` stdout F ${lineOf(number).trimEnd()}`)) throw new Error(`${file}: line ${number} is ${JSON.stringify(record.slice(0, 120))}`);
  }
  if (number !== lines) throw new Error(`${file}: ${number} lines of ${lines}`);
}
