/**
 * How many megabytes of container output a second become log records, by length of line. One core, one stream, chunks of
 * 64 KiB as a FIFO's reader gives them. Run: `node dist/test/logging/container-log.bench.js [directory]`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContainerLog } from '../../src/logging/container-log.js';

const CHUNK_BYTES = 64 * 1024;
const TOTAL_BYTES = 256 * 1024 * 1024;

async function measure(directory: string, lineBytes: number): Promise<void> {
  const line = Buffer.alloc(lineBytes, 'y');
  line[lineBytes - 1] = 10;
  const stream = Buffer.concat(Array.from({ length: Math.ceil((CHUNK_BYTES * 2) / lineBytes) }, () => line));
  const path = join(directory, `${lineBytes}.log`);
  const log = await ContainerLog.open(path);
  const stdout = log.stream('stdout');
  let given = 0;
  let at = 0;
  const started = process.hrtime.bigint();
  const cpu = process.cpuUsage();
  while (given < TOTAL_BYTES) {
    const chunk = stream.subarray(at, at + CHUNK_BYTES);
    await stdout.write(chunk);
    given += chunk.length;
    at = (at + chunk.length) % lineBytes;
  }
  await log.close();
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  const used = process.cpuUsage(cpu);
  const rate = (bytes: number): string => (bytes / 1e6 / seconds).toFixed(0).padStart(5);
  console.log(
    `${String(lineBytes).padStart(6)} bytes a line: ${rate(given)} MB/s in, ${rate(log.stats.bytes)} MB/s out, ` +
      `CPU ${((used.user + used.system) / 1e4 / seconds).toFixed(0)} % (system ${(used.system / 1e4 / seconds).toFixed(0)} %)`,
  );
  await rm(path);
}

const directory = await mkdtemp(join(process.argv[2] ?? tmpdir(), 'log-bench-'));
try {
  for (const lineBytes of [100, 2, 20, 80, 100, 1000, 16384, 100000]) await measure(directory, lineBytes);
} finally {
  await rm(directory, { recursive: true });
}
