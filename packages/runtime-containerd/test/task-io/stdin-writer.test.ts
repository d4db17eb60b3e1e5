import { closeSync, constants, openSync, readdirSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { TaskIo } from '../../src/index.js';
import { sleep, until } from '../support/fixture.js';

async function stdin(t: Test) {
  const io = await TaskIo.create(join(t.testdir(), 'io'), { stdin: true, terminal: true });
  return { io, writer: io.openStdin() };
}

const openReader = (path: string) => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);

t.test('what is written before there is a reader arrives; end closes the write end', async (t) => {
  const { io, writer } = await stdin(t);
  writer.write('hello ');
  writer.end('world');
  await sleep(40);
  t.notOk(writer.closed);
  const chunks: string[] = [];
  const reader = new Socket({ fd: openReader(io.paths.stdin), readable: true, writable: false });
  const ended = new Promise((resolve) => reader.once('end', resolve));
  reader.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  await new Promise((resolve) => writer.once('close', resolve));
  await ended;
  t.equal(chunks.join(''), 'hello world');
  t.notOk(writer.errored);
});

t.test('a full FIFO holds the writer back without holding up anything else', async (t) => {
  const { io, writer } = await stdin(t);
  const fd = openReader(io.paths.stdin);
  const data = Buffer.alloc(300 * 1024, 'z');
  let done = false;
  writer.write(data, () => {
    done = true;
  });
  await sleep(80);
  t.notOk(done);
  let read = 0;
  const buffer = Buffer.alloc(65536);
  const end = Date.now() + 3000;
  while (read < data.length && Date.now() < end) {
    try {
      read += readSync(fd, buffer);
    } catch {
      // EAGAIN
    }
    await sleep(1);
  }
  t.equal(read, data.length);
  await until(() => done, 'the callback');
  writer.destroy();
  closeSync(fd);
});

t.test('a reader that goes is the end, not an error', async (t) => {
  const { io, writer } = await stdin(t);
  const fd = openReader(io.paths.stdin);
  await new Promise<void>((resolve) => writer.write('x', () => resolve()));
  closeSync(fd);
  let answered = 0;
  writer.write('y', () => answered++);
  writer.write(Buffer.alloc(200 * 1024), () => answered++);
  await new Promise((resolve) => writer.once('close', resolve));
  t.equal(writer.errored, null);
  await until(() => answered === 2, 'the callbacks');
});

t.test('a reader that goes while the FIFO is full', async (t) => {
  const { io, writer } = await stdin(t);
  const fd = openReader(io.paths.stdin);
  let answered = false;
  writer.write(Buffer.alloc(300 * 1024), () => {
    answered = true;
  });
  await sleep(50);
  t.notOk(answered);
  closeSync(fd);
  await until(() => answered && writer.closed, 'the end');
  t.equal(writer.errored, null);
});

t.test('destroyed while it waits for a reader: no descriptor stays', async (t) => {
  const { io, writer } = await stdin(t);
  writer.write('never read');
  await sleep(30);
  const before = readdirSync('/proc/self/fd').length;
  writer.destroy();
  await new Promise((resolve) => writer.once('close', resolve));
  const fd = openReader(io.paths.stdin);
  await sleep(300);
  t.throws(() => openSync(io.paths.stdout, constants.O_WRONLY | constants.O_NONBLOCK), { code: 'ENXIO' });
  t.equal(readSync(fd, Buffer.alloc(1)), 0, 'nobody writes');
  closeSync(fd);
  t.equal(readdirSync('/proc/self/fd').length, before);
});

t.test('ended without data before there is a reader, then destroyed', async (t) => {
  const { writer } = await stdin(t);
  writer.end();
  await sleep(20);
  writer.destroy();
  await new Promise((resolve) => writer.once('close', resolve));
  t.pass();
});

t.test('a FIFO that is not there is an error', async (t) => {
  const writer = TaskIo.attach('/nonexistent', { stdin: true, terminal: true }).openStdin();
  await new Promise((resolve) => writer.once('close', resolve));
  t.match(writer.errored, { code: 'ENOENT' });
});
