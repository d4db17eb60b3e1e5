import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { test } from 'tap';
import { NetnsThread } from '../../src/netns/netns-thread.js';
import { pinDirectory } from '../fixtures/pin-directory.js';

async function echoOn(host: string): Promise<{ server: Server; port: number }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(0, host);
  await once(server, 'listening');
  return { server, port: (server.address() as { port: number }).port };
}

for (const host of ['127.0.0.1', '::1']) {
  test(`the own namespace, ${host}: both directions, half-close, descriptors`, async (t) => {
    const thread = new NetnsThread();
    const { server, port } = await echoOn(host);
    t.teardown(async () => {
      await thread.close();
      server.close();
    });
    const warm = await thread.connect(undefined, port);
    warm.input.destroy();
    warm.output.destroy();
    const descriptors = async () => (await readdir('/proc/self/fd')).length;
    const { input, output } = await thread.connect(undefined, port);
    output.end('hello');
    t.equal(await text(input), 'hello', 'the end of the output is a half-close: the answer still comes');
    const before = await descriptors();
    for (let round = 0; round < 20; round++) {
      const connection = await thread.connect(undefined, port);
      connection.output.end('x');
      t.equal(await text(connection.input), 'x');
    }
    t.ok((await descriptors()) <= before + 4, 'descriptors are closed');
  });
}

test('a port inside of a pinned namespace, which the machine itself does not have', async (t) => {
  const dir = pinDirectory(t);
  const thread = new NetnsThread();
  t.teardown(() => thread.close());
  const path = join(dir, 'ns');
  await thread.create(path);
  t.teardown(() => thread.release(path).catch(() => undefined));
  const program = `require('net').createServer(s=>s.end('inside')).listen(4711,'127.0.0.1',()=>console.log('up'))`;
  const server = spawn('nsenter', [`--net=${path}`, process.execPath, '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(server.stdout, 'data');
  const { input, output } = await thread.connect(path, 4711);
  t.equal(await text(input), 'inside');
  output.destroy();
  await t.rejects(thread.connect(undefined, 4711), { name: 'NetnsError', code: 'ECONNREFUSED' });
  server.kill();
  await once(server, 'exit');
  await thread.release(path);
});

test('nobody listens; no such namespace', async (t) => {
  const thread = new NetnsThread();
  t.teardown(() => thread.close());
  await t.rejects(thread.connect(undefined, 1), { name: 'NetnsError', code: 'ECONNREFUSED', step: 'connect to 127.0.0.1:1' });
  await t.rejects(thread.connect('/nowhere/ns', 80), { name: 'NetnsError', code: 'ENOENT', step: 'open the pin' });
});
