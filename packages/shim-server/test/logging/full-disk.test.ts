import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { ContainerLog } from '../../src/logging/container-log.js';
import { LogFile } from '../../src/logging/log-file.js';
import { parseRecords } from './parse-records.js';

/** A file system of its own, small enough to fill. */
function smallDisk(t: { teardown(done: () => void): void }, kilobytes: number): string {
  const dir = mkdtempSync(join(tmpdir(), 'full-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', dir]);
  t.teardown(() => {
    execFileSync('umount', [dir]);
    rmSync(dir, { recursive: true });
  });
  return dir;
}

void t.test(
  'a full disk: whole records are dropped and counted, none is halved, and work goes on with room',
  async (t) => {
    const dir = smallDisk(t, 256);
    const path = join(dir, 'c.log');
    writeFileSync(join(dir, 'ballast'), Buffer.alloc(128 * 1024));
    let dropped = 0;
    const errors = new Set<string | undefined>();
    const log = await ContainerLog.open(path, {
      onDrop: (records, error) => {
        dropped += records;
        errors.add((error as NodeJS.ErrnoException).code);
      },
    });
    const stdout = log.stream('stdout');
    let given = 0;
    const chunk = (): Buffer =>
      Buffer.from(Array.from({ length: 500 }, () => `line ${String(given++).padStart(60)}\n`).join(''));
    for (let i = 0; i < 10; i += 1) await stdout.write(chunk());
    const full = parseRecords(readFileSync(path));
    t.same([...errors], ['ENOSPC']);
    t.ok(dropped > 0);
    t.equal(log.stats.droppedRecords, dropped);
    t.equal(full.length + dropped, given, 'every record is either there or counted');
    t.equal(log.stats.bytes, readFileSync(path).length);

    rmSync(join(dir, 'ballast'));
    const before = given;
    await stdout.write(chunk());
    await log.close();
    const after = parseRecords(readFileSync(path));
    t.equal(after.length, full.length + 500);
    t.equal(after[full.length]?.content.toString(), `line ${String(before).padStart(60)}`);
  },
);

void t.test('a rotation leaves a full disk behind', async (t) => {
  const dir = smallDisk(t, 64);
  const path = join(dir, 'c.log');
  const file = await LogFile.open(path);
  const record = Buffer.from(`2026-01-01T00:00:00.000000000Z stdout F ${'x'.repeat(4000)}\n`);
  for (let i = 0; i < 30; i += 1) await file.append(record);
  t.ok(file.stats.droppedRecords > 0);
  renameSync(path, join(dir, 'old'));
  rmSync(join(dir, 'old'));
  await file.reopen();
  await file.append(record);
  await file.close();
  t.same(readFileSync(path), record);
});
