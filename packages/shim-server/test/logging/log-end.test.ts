import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ContainerLog } from '../../src/logging/container-log.js';
import type { StreamName } from '../../src/logging/record-encoder.js';
import { parseRecords } from './parse-records.js';

const NONE: ReadonlySet<StreamName> = new Set();
const OPTIONS = { maxLineBytes: 8 };
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/** The records of a log, without times. */
function shape(path: string): string[] {
  return parseRecords(readFileSync(path)).map(({ stream, tag, content }) => `${stream} ${tag} ${content.toString('latin1')}`);
}

/** A log that a daemon wrote and was killed over: its last bytes may be held back. */
async function written(t: { testdir(): string }, ...chunks: readonly (readonly [StreamName, string])[]): Promise<string> {
  const path = join(t.testdir(), 'c.log');
  const log = await ContainerLog.open(path, OPTIONS);
  for (const [stream, text] of chunks) await log.stream(stream).write(bytes(text));
  return path;
}

async function resumed(path: string, goesOn: ReadonlySet<StreamName>, ...chunks: readonly (readonly [StreamName, string])[]): Promise<void> {
  const log = await ContainerLog.resume(path, goesOn, OPTIONS);
  for (const [stream, text] of chunks) await log.stream(stream).write(bytes(text));
  await log.close();
}

void t.test('a killed daemon took the rest of a long line with it: what comes next is not joined to its start', async (t) => {
  const path = await written(t, ['stdout', 'AAAAAAAAAA']);
  t.same(shape(path), ['stdout P AAAAAAAA']);
  await resumed(path, NONE, ['stdout', 'CC\nD\n']);
  t.same(shape(path), ['stdout P AAAAAAAA', 'stdout F ', 'stdout F CC', 'stdout F D']);
});

void t.test('each stream by itself, however many records of the other came after it', async (t) => {
  const path = await written(t, ['stderr', 'EEEEEEEEEE'], ...Array.from({ length: 50 }, (): [StreamName, string] => ['stdout', 'o\n']));
  await resumed(path, NONE, ['stdout', 'o\n'], ['stderr', 'rest\n']);
  t.same(shape(path).slice(-3), ['stderr F ', 'stdout F o', 'stderr F rest']);
  t.equal(shape(path).filter((record) => record === 'stderr F ').length, 1);
});

void t.test('a daemon that stopped in order: the line goes on', async (t) => {
  const path = join(t.testdir(), 'c.log');
  const log = await ContainerLog.open(path, OPTIONS);
  await log.stream('stdout').write(bytes('one\ntw'));
  await log.stream('stderr').write(bytes('whole\n'));
  await log.close();
  t.same(log.unfinished, ['stdout']);
  const next = await ContainerLog.resume(path, new Set(log.unfinished), OPTIONS);
  await next.close();
  t.same(next.unfinished, ['stdout'], 'also one that read nothing of it');
  await resumed(path, new Set(next.unfinished), ['stdout', 'o\n']);
  t.same(shape(path), ['stdout F one', 'stderr F whole', 'stdout P tw', 'stdout F o']);
});

void t.test('half a record is cut off, and the next one does not follow it on its line', async (t) => {
  const path = await written(t, ['stdout', 'one\n']);
  appendFileSync(path, '2026-01-31T23:59:59.123456789Z stdout F tw');
  await resumed(path, NONE, ['stdout', 'three\n']);
  t.same(shape(path), ['stdout F one', 'stdout F three']);
});

void t.test('rotated right before the kill: the start of the line stands in the file that was rotated last', async (t) => {
  const path = await written(t, ['stdout', 'AAAAAAAAAA'], ['stderr', 'whole\n']);
  writeFileSync(`${path}.20260131-235958`, '2026-01-31T23:59:58.123456789Z stderr P EEEEEEEE\n');
  renameSync(path, `${path}.20260131-235959`);
  await resumed(path, NONE, ['stdout', 'CC\n'], ['stderr', 'next\n']);
  t.same(shape(path), ['stdout F ', 'stdout F CC', 'stderr F next']);
});

void t.test('half a record and nothing else', async (t) => {
  const path = join(t.testdir(), 'c.log');
  writeFileSync(path, '2026-01-31T23:5');
  await resumed(path, NONE, ['stderr', 'one\n']);
  t.same(shape(path), ['stderr F one']);
});

void t.test('a large log is not read whole, and not cut where no record ends in what is read', async (t) => {
  const path = join(t.testdir(), 'c.log');
  writeFileSync(path, 'x'.repeat(300 * 1024));
  await resumed(path, NONE);
  t.equal(statSync(path).size, 300 * 1024);
  appendFileSync(path, '\n2026-01-31T23:59:59.123456789Z stdout P AAAAAAAA\n');
  await resumed(path, NONE);
  t.equal(readFileSync(path, 'latin1').split('\n').at(-2)?.slice(31), 'stdout F ');
});

void t.test('no file yet, or no log at all', async (t) => {
  const path = join(t.testdir(), 'new/c.log');
  await resumed(path, NONE, ['stdout', 'one\n']);
  t.same(shape(path), ['stdout F one']);
  const none = await ContainerLog.resume(undefined, NONE);
  await none.stream('stdout').write(bytes('x'));
  await none.close();
  await t.rejects(ContainerLog.resume(path, NONE, { maxLineBytes: 0 }), RangeError);
});
