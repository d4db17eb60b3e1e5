import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { mkfifo, MkfifoError, TaskIo, type OutputSink } from '../../src/index.js';
import { sleep, until } from '../support/fixture.js';

const both = { stdin: false, terminal: false };

/** As the shim: a write end, and a read end so that nothing is lost while nobody reads. */
function shim(path: string) {
  const keeper = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const socket = new Socket({ fd: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), readable: false, writable: true });
  socket.on('error', () => socket.destroy());
  return {
    write: (data: string | Buffer) => new Promise<void>((resolve) => socket.write(data, () => resolve())),
    async end() {
      await new Promise<void>((resolve) => {
        socket.once('close', () => resolve());
        socket.end();
      });
      closeSync(keeper);
    },
  };
}

function recorder() {
  const chunks: Buffer[] = [];
  const ends: (Error | undefined)[] = [];
  const sink: OutputSink = {
    data: (chunk) => void chunks.push(Buffer.from(chunk)),
    end: (error) => void ends.push(error),
  };
  return { sink, ends, text: () => Buffer.concat(chunks).toString(), chunks };
}

t.test('the FIFOs of a layout', async (t) => {
  const dir = join(t.testdir(), 'a', 'io');
  const io = await TaskIo.create(dir, { stdin: true, terminal: false });
  t.same(io.paths, { stdin: join(dir, 'stdin'), stdout: join(dir, 'stdout'), stderr: join(dir, 'stderr') });
  t.equal(statSync(dir).mode & 0o777, 0o700);
  for (const path of Object.values(io.paths)) {
    const stat = statSync(path);
    t.ok(stat.isFIFO(), path);
    t.equal(stat.mode & 0o777, 0o600);
  }
  t.same(TaskIo.attach(dir, { stdin: true, terminal: false }).paths, io.paths);
  t.same(TaskIo.attach('/d', { stdin: false, terminal: true }).paths, { stdin: '', stdout: '/d/stdout', stderr: '' });
  t.same(TaskIo.attach('/d', { stdin: false, terminal: false, output: false }).paths, { stdin: '', stdout: '', stderr: '' });
  t.throws(() => TaskIo.attach('/d', { stdin: false, terminal: true }).openOutput('stderr', recorder().sink), new RangeError('/d: no stderr'));
  t.throws(() => TaskIo.attach('/d', both).openStdin(), new RangeError('/d: no stdin'));
  await io.remove();
  t.throws(() => statSync(dir), { code: 'ENOENT' });
  await t.resolves(io.remove(), 'again');
});

t.test('the directory goes with whatever is in it, whoever made it', async (t) => {
  const dir = join(t.testdir(), 'io');
  const gone = (what: string) => t.throws(() => statSync(dir), { code: 'ENOENT' }, what);
  const layout = { stdin: true, terminal: false };
  await TaskIo.create(dir, layout);
  await TaskIo.attach(dir, { stdin: false, terminal: true }).remove();
  gone('attached, and not told of all FIFOs');
  const partly = await TaskIo.create(dir, layout);
  unlinkSync(partly.paths.stdout);
  await partly.remove();
  gone('one was removed by somebody else');
  const emptied = await TaskIo.create(dir, layout);
  await emptied.unlink();
  t.same(await readdir(dir), []);
  await emptied.unlink();
  await emptied.remove();
  gone('emptied before');
  for (const remains of ['created', 'attached']) {
    const full = await TaskIo.create(dir, both);
    await mkdir(join(dir, 'more'));
    await writeFile(join(dir, 'more', 'file'), '');
    await (remains === 'created' ? full : TaskIo.attach(dir, both)).remove();
    gone(`full, ${remains}`);
  }
  await writeFile(dir, '');
  await TaskIo.attach(dir, both).remove();
  gone('a file');
  const first = await TaskIo.create(dir, both);
  await TaskIo.attach(dir, both).remove();
  await t.resolves(first.remove(), 'removed by another');
  await TaskIo.create(dir, both);
  await first.remove();
  t.same((await readdir(dir)).sort(), ['stderr', 'stdout'], "another one's");
});

t.test('what cannot be made leaves nothing', async (t) => {
  const root = t.testdir({ io: {} });
  await t.rejects(TaskIo.create(join(root, 'io'), both), { code: 'EEXIST' });
  await writeFile(join(root, 'file'), '');
  await t.rejects(TaskIo.create(join(root, 'file', 'io'), both), { code: /^(ENOTDIR|EEXIST)$/ });
  mkfifo(join(root, 'f'), 0o600);
  t.throws(() => mkfifo(join(root, 'f'), 0o600), new MkfifoError(join(root, 'f'), 'EEXIST'));
  t.throws(() => mkfifo(join(root, 'none', 'f'), 0o600), { code: 'ENOENT' });
  t.throws(() => mkfifo(join(root, 'x'.repeat(256)), 0o600), { code: 'ENAMETOOLONG' });
  const long = join(root, 'y'.repeat(250));
  await mkdir(long);
  t.same((await readdir(root)).sort(), ['f', 'file', 'io', 'y'.repeat(250)]);
});

t.test('a FIFO that cannot be made takes the directory along', async (t) => {
  // A path just short enough for the directory, too long with a FIFO's name in it (PATH_MAX is 4096).
  const root = t.testdir();
  let dir = root;
  while (dir.length < 4085 - 200) dir = join(dir, 'z'.repeat(199));
  dir = join(dir, 'z'.repeat(4094 - dir.length - 1));
  await t.rejects(TaskIo.create(dir, both), { name: 'MkfifoError', code: 'ENAMETOOLONG' });
  t.throws(() => statSync(dir), { code: 'ENOENT' });
});

t.test('reading starts before there is a writer, and ends with the last one', async (t) => {
  const io = await TaskIo.create(join(t.testdir(), 'io'), both);
  const out = recorder();
  const reader = io.openOutput('stdout', out.sink);
  await sleep(50);
  t.same(out.ends, [], 'no writer yet is not the end');
  const writer = shim(io.paths.stdout);
  await writer.write('one ');
  await until(() => out.text() === 'one ', 'data');
  const second = shim(io.paths.stdout);
  await writer.end();
  await sleep(30);
  t.same(out.ends, [], 'another writer is there');
  await second.write('two');
  await second.end();
  await reader.ended;
  t.equal(out.text(), 'one two');
  t.same(out.ends, [undefined]);
  reader.close();
  await sleep(10);
  t.equal(out.ends.length, 1, 'the end is told once');
});

t.test('after a restart: what is in the FIFO, then the end or more', async (t) => {
  const io = await TaskIo.create(join(t.testdir(), 'io'), both);
  const gone = recorder();
  await io.openOutput('stdout', gone.sink, { expectWriter: false }).ended;
  t.same(gone.ends, [undefined], 'the task ended meanwhile: its writer will not come');

  const writer = shim(io.paths.stdout);
  const quiet = recorder();
  const quietReader = io.openOutput('stdout', quiet.sink, { expectWriter: false });
  await sleep(50);
  t.same(quiet.ends, [], 'a writer that says nothing is there');
  quietReader.close();
  await quietReader.ended;

  await writer.write('kept while nobody read\n');
  const out = recorder();
  const reader = io.openOutput('stdout', out.sink, { expectWriter: false });
  await until(() => out.text() !== '', 'what was kept');
  await writer.write('and on');
  await writer.end();
  await reader.ended;
  t.equal(out.text(), 'kept while nobody read\nand on');
  t.same(out.ends, [undefined]);
});

t.test('data that a writer left behind before it went, with another reader holding the pipe', async (t) => {
  const io = await TaskIo.create(join(t.testdir(), 'io'), both);
  const holder = openSync(io.paths.stdout, constants.O_RDONLY | constants.O_NONBLOCK);
  const fd = openSync(io.paths.stdout, constants.O_WRONLY | constants.O_NONBLOCK);
  writeSync(fd, 'last words');
  closeSync(fd);
  const out = recorder();
  await io.openOutput('stdout', out.sink, { expectWriter: false }).ended;
  t.equal(out.text(), 'last words');
  t.same(out.ends, [undefined]);
  closeSync(holder);
});

t.test('a busy sink stops the reading, and the writer', async (t) => {
  const io = await TaskIo.create(join(t.testdir(), 'io'), both);
  let release: () => void = () => undefined;
  const hash = createHash('sha256');
  let received = 0;
  let inside = 0;
  let most = 0;
  const reader = io.openOutput('stdout', {
    async data(chunk) {
      most = Math.max(most, ++inside);
      await new Promise<void>((resolve) => {
        release = resolve;
        if (received > 0) setTimeout(resolve, 1);
      });
      hash.update(chunk);
      received += chunk.length;
      inside--;
    },
    end: () => undefined,
  });
  const data = Buffer.alloc(1024 * 1024);
  for (let i = 0; i < data.length; i++) data[i] = i % 251;
  const writer = shim(io.paths.stdout);
  let written = false;
  const writing = writer.write(data).then(() => {
    written = true;
  });
  await sleep(100);
  t.notOk(written, 'the writer waits for the sink');
  t.equal(received, 0);
  release();
  await writing;
  await writer.end();
  await reader.ended;
  t.equal(received, data.length);
  t.equal(most, 1, 'one chunk at a time');
  t.equal(hash.digest('hex'), createHash('sha256').update(data).digest('hex'), 'the buffer is not reused under the sink');
});

t.test('a sink that fails ends the reading with its error', async (t) => {
  const io = await TaskIo.create(join(t.testdir(), 'io'), both);
  for (const fail of [() => { throw new Error('disk'); }, () => Promise.reject(new Error('disk'))]) {
    for (const expectWriter of [true, false]) {
      const writer = shim(io.paths.stdout);
      await writer.write('x');
      const ends: unknown[] = [];
      await io.openOutput('stdout', { data: fail, end: (error) => void ends.push(error?.message) }, { expectWriter }).ended;
      t.same(ends, ['disk']);
      await writer.end();
    }
  }
});

t.test('close: while nothing comes, while the sink is busy, before it is open', async (t) => {
  const io = await TaskIo.create(join(t.testdir(), 'io'), both);
  const idle = recorder();
  const reader = io.openOutput('stdout', idle.sink);
  await sleep(20);
  reader.close();
  await reader.ended;
  t.same(idle.ends, [undefined]);

  const early = recorder();
  const closed = io.openOutput('stdout', early.sink);
  closed.close();
  t.same(early.ends, []);
  await closed.ended;
  t.same(early.ends, [undefined]);

  const quiet = shim(io.paths.stdout);
  const looking = io.openOutput('stdout', idle.sink, { expectWriter: false });
  looking.close();
  await looking.ended;
  t.same(idle.ends, [undefined, undefined], 'while it looks for a writer, and there is one');
  await quiet.end();

  const log: string[] = [];
  let finish: () => void = () => undefined;
  const busy = io.openOutput('stdout', {
    async data() {
      log.push('data');
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      log.push('stored');
    },
    end: () => void log.push('end'),
  });
  const writer = shim(io.paths.stdout);
  await writer.write('x');
  await until(() => log.length === 1, 'data');
  busy.close();
  await sleep(20);
  t.same(log, ['data'], 'what the sink works on is finished first');
  finish();
  await busy.ended;
  t.same(log, ['data', 'stored', 'end']);
  await writer.end();

  const closing = shim(io.paths.stdout);
  await closing.write('y');
  const once: string[] = [];
  const first = io.openOutput('stdout', { data: () => { once.push('data'); first.close(); }, end: () => void once.push('end') }, { expectWriter: false });
  await first.ended;
  t.same(once, ['data', 'end']);
  await closing.end();
});

t.test('a FIFO that is not there', async (t) => {
  const out = recorder();
  const reader = TaskIo.attach('/nonexistent', both).openOutput('stdout', out.sink);
  t.same(out.ends, [], 'told when its maker has it');
  await reader.ended;
  t.match(out.ends, [{ code: 'ENOENT' }]);
  const socket = createServer();
  const dir = await mkdtemp(join(tmpdir(), 'criquet-no-fifo-'));
  t.teardown(() => rm(dir, { recursive: true }));
  await new Promise<void>((resolve) => socket.listen(join(dir, 'stdout'), resolve));
  const other = recorder();
  await TaskIo.attach(dir, both).openOutput('stdout', other.sink).ended;
  t.match(other.ends, [{ code: 'ENXIO' }], 'what is no FIFO');
  socket.close();
});

t.test('a reader that was made has the FIFO open', async (t) => {
  const io = await TaskIo.create(join(t.testdir(), 'io'), both);
  const out = recorder();
  const reader = io.openOutput('stdout', out.sink);
  // ENXIO where nobody has it open for reading.
  const fd = openSync(io.paths.stdout, constants.O_WRONLY | constants.O_NONBLOCK);
  await io.remove();
  writeSync(fd, 'kept');
  closeSync(fd);
  await reader.ended;
  t.equal(out.text(), 'kept');
});

t.test('200 FIFOs at once, every reader replaced in the middle, no byte lost', async (t) => {
  const root = t.testdir();
  const before = (await readdir('/proc/self/task')).length;
  const lines = 200;
  const streams = await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      const io = await TaskIo.create(join(root, String(i)), both);
      return (['stdout', 'stderr'] as const).map((stream) => ({ io, stream, out: recorder(), name: `${i}/${stream}` }));
    }),
  );
  const all = streams.flat();
  const readers = new Map(all.map(({ io, stream, out, name }) => [name, io.openOutput(stream, out.sink)]));
  const text = (name: string, from: number, to: number) => Array.from({ length: to - from }, (_, i) => `${name} line ${from + i} ${'x'.repeat(300)}\n`).join('');
  const writers = all.map(({ io, stream, name }) => ({ name, writer: shim(io.paths[stream]) }));
  const writing = Promise.all(
    writers.map(async ({ name, writer }) => {
      for (let line = 0; line < lines; line += 20) await writer.write(text(name, line, line + 20));
      await writer.end();
    }),
  );
  await sleep(30);
  await Promise.all(
    all.map(async ({ io, stream, out, name }) => {
      readers.get(name)?.close();
      await readers.get(name)?.ended;
      readers.set(name, io.openOutput(stream, out.sink, { expectWriter: false }));
    }),
  );
  await writing;
  await Promise.all([...readers.values()].map((reader) => reader.ended));
  const wrong = all.filter(({ out, name }) => out.text() !== text(name, 0, lines)).map(({ name }) => name);
  t.same(wrong, []);
  const after = (await readdir('/proc/self/task')).length;
  t.ok(after - before <= 4, `no thread for a FIFO: ${before} threads before, ${after} after`);
});
