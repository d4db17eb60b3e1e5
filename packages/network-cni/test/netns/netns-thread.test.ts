import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { NetnsThread } from '../../src/index.js';
import { mountPoints, pinDirectory } from '../fixtures/pin-directory.js';

const mounts = (dir: string): number => mountPoints().filter((point) => point.startsWith(dir)).length;
const openFiles = (): number => readdirSync('/proc/self/fd').length;

/** A worker module with the given body. */
async function worker(dir: string, body: string): Promise<URL> {
  const file = join(dir, 'worker.mjs');
  await writeFile(file, `import { appendFileSync } from 'node:fs';\nimport { parentPort } from 'node:worker_threads';\nparentPort.on('message', (request) => {\n${body}\n});\n`);
  return pathToFileURL(file);
}

t.test('creates, finds and releases', async (t) => {
  const dir = pinDirectory(t);
  await writeFile(join(dir, 'file'), '');
  const netns = new NetnsThread();
  t.teardown(() => netns.close());
  const path = join(dir, 'a', 'pod');
  const ours = readlinkSync('/proc/self/ns/net');
  t.equal(await netns.exists(path), false);
  await netns.create(path, { sysctls: { 'net.ipv4.ip_forward': '1' } });
  t.equal(await netns.exists(path), true);
  t.equal(readlinkSync('/proc/self/ns/net'), ours, 'the main thread never leaves');
  t.equal(await netns.exists(join(dir, 'file')), false, 'a plain file is no namespace');
  t.equal(await netns.exists(join(dir, 'file', 'below')), false);
  await t.rejects(netns.create(path), { name: 'NetnsError', step: 'create the pin', code: 'EEXIST', path });
  await netns.release(path);
  await netns.release(path);
  t.equal(await netns.exists(path), false);
  await t.rejects(netns.exists(`/${'x'.repeat(300)}`), { name: 'NetnsError', code: 'ENAMETOOLONG' });
});

t.test('bad requests', async (t) => {
  const netns = new NetnsThread();
  t.teardown(() => netns.close());
  await t.rejects(netns.create('relative/pod'), { name: 'NetnsError', message: /not absolute/ });
  await t.rejects(netns.create(join(pinDirectory(t), 'pod'), { signal: AbortSignal.abort() }), { name: 'AbortError' });
  await t.rejects(netns.create(join(pinDirectory(t), 'pod'), { sysctls: { 'kernel.domainname': 'x' } }), { name: 'NetnsError', step: 'sysctl kernel.domainname' });
});

t.test('100 namespaces, together and in a row, leave no mount and no file', async (t) => {
  const dir = pinDirectory(t);
  const netns = new NetnsThread();
  t.teardown(() => netns.close());
  const paths = Array.from({ length: 100 }, (_, index) => join(dir, `pod-${index}`));
  await netns.create(join(dir, 'warm-up'));
  await netns.release(join(dir, 'warm-up'));
  const before = { mounts: mounts(dir), files: openFiles() };

  const times: number[] = [];
  for (const path of paths) {
    const begun = performance.now();
    await netns.create(path);
    times.push(performance.now() - begun);
  }
  t.equal(mounts(dir), before.mounts + 100);
  await Promise.all(paths.map((path) => netns.release(path)));
  await Promise.all(paths.map((path) => netns.create(path)));
  await Promise.all(paths.map((path) => netns.release(path)));
  t.same({ mounts: mounts(dir), files: openFiles() }, before);
  t.same(readdirSync(dir), []);
  times.sort((a, b) => a - b);
  t.comment(`create: median ${times[50]?.toFixed(2)} ms, 90 % ${times[90]?.toFixed(2)} ms`);
  t.ok((times[50] ?? Infinity) < 20, 'a busy machine may be ten times slower than the 1 ms measured');
});

t.test('a worker that dies fails what is under way; the next request gets a new one', async (t) => {
  const dir = pinDirectory(t);
  const workerUrl = await worker(dir, `
    if (request.path.endsWith('exit')) process.exit(3);
    if (request.path.endsWith('throw')) throw new Error('worker broke');
    if (!request.path.endsWith('silent')) parentPort.postMessage({ id: request.id });`);
  const netns = new NetnsThread({ workerUrl });
  t.teardown(() => netns.close());
  await netns.create('/x/good');
  const silent = netns.create('/x/silent');
  const failed = t.rejects(silent, { name: 'NetnsError', step: 'worker', path: '/x/silent', message: /ended \(code 3\)/ });
  await t.rejects(netns.create('/x/exit'), { name: 'NetnsError', step: 'worker', path: '/x/exit', message: /code 3/ });
  await failed;
  await netns.create('/x/good');
  await t.rejects(netns.create('/x/throw'), { name: 'NetnsError', step: 'worker', message: /worker broke/ });
  await netns.create('/x/good');
});

t.test('a worker that cannot start fails the request', async (t) => {
  const netns = new NetnsThread({ workerUrl: pathToFileURL('/no/such/worker.mjs') });
  await t.rejects(netns.create('/x/a'), { name: 'NetnsError', step: 'worker' });
  await netns.close();
});

t.test('no answer in time: the request fails, and what is done late is undone', async (t) => {
  const dir = pinDirectory(t);
  const log = join(dir, 'log');
  const workerUrl = await worker(dir, `
    appendFileSync(${JSON.stringify(log)}, request.operation + ' ' + request.path + '\\n');
    const failure = request.path === '/x/fails' ? { step: 's', code: 'EIO', reason: 'r' } : undefined;
    setTimeout(() => parentPort.postMessage({ id: request.id, failure }), request.operation === 'create' ? 250 : 0);`);
  const netns = new NetnsThread({ workerUrl, timeoutMs: 150, usernsChild: '/x/child' });
  t.teardown(() => netns.close());
  for (let up = false; !up; ) up = await netns.release('/x/warm-up').then(() => true, () => false);
  await Promise.all([
    t.rejects(netns.create('/x/late'), { name: 'NetnsError', code: 'ETIMEDOUT', message: /within 150 ms/ }),
    t.rejects(netns.create('/x/late-net', { userns: { path: '/x/late-user', uids: [], gids: [] } }), { name: 'NetnsError', code: 'ETIMEDOUT' }),
    t.rejects(netns.create('/x/fails'), { name: 'NetnsError', code: 'ETIMEDOUT' }),
  ]);
  await delay(300);
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  for (const pin of ['late', 'late-net', 'late-user']) t.ok(lines.includes(`release /x/${pin}`), pin);
  t.notOk(lines.includes('release /x/fails'), 'a late failure left nothing');
});

t.test('close waits for what is under way and refuses what comes after', async (t) => {
  const path = join(pinDirectory(t), 'pod');
  const netns = new NetnsThread();
  const created = netns.create(path);
  await netns.close();
  await created;
  t.ok(existsSync(path), 'pins outlive the thread');
  await t.rejects(netns.create(`${path}2`), { name: 'NetnsError', message: /closed/ });
  const other = new NetnsThread();
  await other.release(path);
  await other.close();
  await new NetnsThread().close();
});

t.test('close does not wait for a kernel that does not answer', async (t) => {
  const workerUrl = await worker(pinDirectory(t), '');
  const netns = new NetnsThread({ workerUrl, timeoutMs: 50 });
  const pending = t.rejects(netns.create('/x/a'), { name: 'NetnsError', code: 'ETIMEDOUT' });
  const begun = performance.now();
  await netns.close();
  await pending;
  t.ok(performance.now() - begun < 5000);
});

t.test('an idle thread does not keep the process alive', async (t) => {
  const index = new URL('../../src/index.js', import.meta.url).href;
  const code = `import { NetnsThread } from ${JSON.stringify(index)}; const n = new NetnsThread(); await n.release('/no/such/pin'); console.log('end');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env['PATH'] } });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exitCode = await new Promise((resolve) => child.on('close', resolve));
  t.equal(output, 'end\n');
  t.equal(exitCode, 0);
});
