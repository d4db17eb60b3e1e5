import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { ContainerLog, DEFAULT_MAX_LINE_BYTES } from '../../src/logging/container-log.js';
import { joinStream, parseRecords } from './parse-records.js';

const codeOf = (act: Promise<unknown>): Promise<unknown> =>
  act.then(
    () => undefined,
    (error: { code?: unknown }) => error.code,
  );
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Writes the chunks to stdout and returns the log's records. */
async function logged(t: { testdir(): string }, chunks: readonly Buffer[], maxLineBytes?: number) {
  const path = join(t.testdir(), 'c.log');
  const log = await ContainerLog.open(path, maxLineBytes === undefined ? {} : { maxLineBytes });
  for (const chunk of chunks) await log.stream('stdout').write(chunk);
  await log.stream('stdout').end();
  await log.close();
  return parseRecords(readFileSync(path));
}

const shape = (records: Awaited<ReturnType<typeof logged>>) =>
  records.map(({ tag, content }) => `${tag} ${content.toString('latin1')}`);

void t.test('G1 nothing mixed: lines become records whatever the chunks are', async (t) => {
  t.same(shape(await logged(t, [bytes('one\ntwo\n')])), ['F one', 'F two']);
  t.same(shape(await logged(t, [bytes('o'), bytes('ne'), bytes('\n'), bytes(''), bytes('two\n')])), ['F one', 'F two']);
  t.same(shape(await logged(t, [bytes('\n\na\n')])), ['F ', 'F ', 'F a'], 'empty lines');
  t.same(shape(await logged(t, [])), []);
});

void t.test('G1 nothing mixed: a last partial is flushed as P', async (t) => {
  t.same(shape(await logged(t, [bytes('one\ntwo')])), ['F one', 'P two']);
});

void t.test('G1 nothing mixed: CRLF, NUL and invalid UTF-8 are kept', async (t) => {
  const odd = Buffer.from([0x61, 0x0d, 0x0a, 0x00, 0xff, 0xfe, 0x0a, 0xc3, 0x28, 0x0a]);
  t.same(joinStream(await logged(t, [odd]), 'stdout'), odd);
});

void t.test('G1 nothing mixed: lines of 16383, 16384, 16385 bytes', async (t) => {
  t.equal(DEFAULT_MAX_LINE_BYTES, 16384);
  const sizes = async (length: number, chunk = 1 << 20) => {
    const line = Buffer.alloc(length + 1, 'x');
    line[length] = 10;
    const chunks: Buffer[] = [];
    for (let at = 0; at < line.length; at += chunk) chunks.push(line.subarray(at, at + chunk));
    return (await logged(t, chunks)).map(({ tag, content }) => `${tag}${content.length}`);
  };
  for (const chunk of [1 << 20, 65536, 16384, 1000, 1]) {
    t.same(await sizes(16383, chunk), ['F16383'], `chunks of ${chunk}`);
    t.same(await sizes(16384, chunk), ['F16384'], `chunks of ${chunk}`);
    t.same(await sizes(16385, chunk), ['P16384', 'F1'], `chunks of ${chunk}`);
  }
  t.same(await sizes(3 * 16384), ['P16384', 'P16384', 'F16384']);
});

void t.test('G1 nothing mixed: any split of any bytes joins to the same bytes', async (t) => {
  let seed = 42;
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  for (let round = 0; round < 30; round += 1) {
    const all = Buffer.from(Array.from({ length: random(5000) }, () => (random(12) === 0 ? 10 : random(256))));
    const chunks: Buffer[] = [];
    for (let at = 0; at < all.length;) {
      const size = 1 + random(700);
      chunks.push(Buffer.from(all.subarray(at, at + size)));
      at += size;
    }
    const max = 1 + random(40);
    const records = await logged(t, chunks, max);
    if (!joinStream(records, 'stdout').equals(all)) t.fail(`round ${round} differs`);
    if (records.some(({ content }) => content.length > max)) t.fail(`round ${round} has a record that is too long`);
    if (
      records.some(({ tag, content }) => tag === 'P' && content.length < max && records.at(-1)?.content !== content)
    ) {
      t.fail(`round ${round} splits early`);
    }
  }
  t.pass('all rounds');
});

void t.test('G1 nothing mixed: two streams at full speed with lines of 10 to 200 kB', async (t) => {
  const path = join(t.testdir(), 'c.log');
  const log = await ContainerLog.open(path);
  const feed = async (name: 'stdout' | 'stderr', letter: string): Promise<Buffer> => {
    const lines = [10_000, 200_000, 1, 65_536, 0, 123_456].map((size) =>
      Buffer.concat([Buffer.alloc(size, letter), bytes('\n')]),
    );
    const all = Buffer.concat([...lines, ...lines, ...lines]);
    for (let at = 0; at < all.length; at += 65536) await log.stream(name).write(all.subarray(at, at + 65536));
    await log.stream(name).end();
    return all;
  };
  const [out, err] = await Promise.all([feed('stdout', 'o'), feed('stderr', 'e')]);
  await log.close();
  const records = parseRecords(readFileSync(path));
  t.ok(joinStream(records, 'stdout').equals(out));
  t.ok(joinStream(records, 'stderr').equals(err));
  const firstErr = records.findIndex(({ stream }) => stream === 'stderr');
  const lastOut = records.findLastIndex(({ stream }) => stream === 'stdout');
  t.ok(firstErr < lastOut, 'the streams did run beside one another');
  t.equal(new Set(records.map(({ time }) => time)).size, records.length, 'no two records of one time');
  t.same(
    records.map(({ time }) => time),
    records.map(({ time }) => time).sort(),
    'and none out of order',
  );
});

void t.test('a chunk may be used again once write has resolved', async (t) => {
  const path = join(t.testdir(), 'c.log');
  const log = await ContainerLog.open(path);
  const chunk = bytes('first\npart');
  await log.stream('stdout').write(chunk);
  chunk.fill('z');
  await log.stream('stdout').write(bytes('ial\n'));
  await log.close();
  t.same(shape(parseRecords(readFileSync(path))), ['F first', 'F partial']);
});

void t.test('a flush at shutdown keeps the start of a line, and the next daemon writes the rest', async (t) => {
  const path = join(t.testdir(), 'c.log');
  const first = await ContainerLog.open(path);
  await first.stream('stdout').write(bytes('hel'));
  await first.stream('stderr').write(bytes('whole\n'));
  await first.close();
  await first.close();
  const second = await ContainerLog.open(path);
  await second.stream('stdout').write(bytes('lo\n'));
  await second.flush();
  await second.close();
  const records = parseRecords(readFileSync(path));
  t.same(shape(records), ['F whole', 'P hel', 'F lo']);
  t.equal(joinStream(records, 'stdout').toString(), 'hello\n');
});

void t.test(
  'G2 rotation: no line lost or split across files, the new file is there when the call returns',
  async (t) => {
    const dir = t.testdir();
    const path = join(dir, 'c.log');
    const log = await ContainerLog.open(path);
    let stop = false;
    let lines = 0;
    const writer = (async () => {
      while (!stop) {
        const chunk = Buffer.from(Array.from({ length: 200 }, () => `line ${lines++}\n`).join(''));
        await log.stream('stdout').write(chunk);
      }
    })();
    for (let rotation = 0; rotation < 200; rotation += 1) {
      renameSync(path, join(dir, `c.log.${rotation}`));
      await log.reopen();
      if (!existsSync(path)) t.fail(`rotation ${rotation}: no new file`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    stop = true;
    await writer;
    await log.close();
    const files = [...Array.from({ length: 200 }, (_, index) => `c.log.${index}`), 'c.log'];
    const records = files.flatMap((name) => parseRecords(readFileSync(join(dir, name))));
    t.equal(records.length, lines);
    t.ok(records.every(({ tag, content }, index) => tag === 'F' && content.toString() === `line ${index}`));
  },
);

void t.test('G2 rotation: after the end an error and no file; a failure leaves the old file in use', async (t) => {
  const dir = t.testdir({ sub: {} });
  const path = join(dir, 'sub/c.log');
  const log = await ContainerLog.open(path);
  renameSync(join(dir, 'sub'), join(dir, 'moved'));
  writeFileSync(join(dir, 'sub'), 'a file where the directory was');
  t.equal(await codeOf(log.reopen()), status.FAILED_PRECONDITION);
  await log.stream('stdout').write(bytes('still here\n'));
  t.match(readFileSync(join(dir, 'moved/c.log'), 'latin1'), /F still here\n$/);
  await log.close();
  execFileSync('rm', [join(dir, 'sub')]);
  t.equal(await codeOf(log.reopen()), status.FAILED_PRECONDITION);
  t.notOk(existsSync(path));
});

void t.test('G3 missing directory: created, and again when it is gone at a rotation', async (t) => {
  const dir = t.testdir();
  const path = join(dir, 'a/b/c.log');
  const log = await ContainerLog.open(path);
  t.equal(statSync(path).mode & 0o777, 0o640);
  execFileSync('rm', ['-r', join(dir, 'a')]);
  await log.reopen();
  t.ok(existsSync(path));
  await log.close();
});

void t.test('what is there is appended to', async (t) => {
  const path = join(t.testdir({ 'c.log': '2026-01-01T00:00:00.000000000Z stdout F old\n' }), 'c.log');
  const log = await ContainerLog.open(path);
  await log.stream('stdout').write(bytes('new\n'));
  await log.close();
  t.same(shape(parseRecords(readFileSync(path))), ['F old', 'F new']);
});

void t.test('no log path: everything is taken and nothing written', async (t) => {
  const log = await ContainerLog.open(undefined);
  await log.stream('stdout').write(bytes('x\n'));
  await log.stream('stderr').end();
  await log.reopen();
  await log.close();
  t.same(log.stats, { bytes: 0, droppedRecords: 0 });
});

void t.test('a log that cannot be opened', async (t) => {
  const dir = t.testdir({ file: '', target: '' });
  symlinkSync('target', join(dir, 'link'));
  execFileSync('mkfifo', [join(dir, 'fifo')]);
  mkdirSync(join(dir, 'dir'));
  for (const name of ['link', 'fifo', 'dir', 'file/c.log']) {
    t.equal(await codeOf(ContainerLog.open(join(dir, name))), status.FAILED_PRECONDITION, name);
  }
  t.equal(await codeOf(ContainerLog.open('/dev/null')), status.FAILED_PRECONDITION, 'a device');
  await t.rejects(ContainerLog.open(join(dir, 'c.log'), { maxLineBytes: 0 }), RangeError);
  chmodSync(dir, 0o755);
});

void t.test('stats', async (t) => {
  const path = join(t.testdir(), 'c.log');
  const log = await ContainerLog.open(path);
  await log.stream('stdout').write(bytes('abc\n'));
  await log.close();
  t.same(log.stats, { bytes: statSync(path).size, droppedRecords: 0 });
  await log.stream('stdout').write(bytes('late\n'));
  t.equal(log.stats.droppedRecords, 1, 'after the end records are dropped');
});
