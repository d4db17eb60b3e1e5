import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { PluginRunError, ProcessPluginRunner, type PluginRequest } from '../../src/index.js';
import { script } from '../fixtures/script.js';

const request = (path: string, more: Partial<PluginRequest> = {}): PluginRequest => ({ path, env: { PATH: process.env['PATH'] ?? '' }, stdin: '', timeoutMs: 10_000, ...more });

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function eventually(check: () => boolean | Promise<boolean>, ms = 3000): Promise<boolean> {
  for (const end = performance.now() + ms; performance.now() < end; await delay(20)) if (await check()) return true;
  return false;
}

async function failureOf(run: Promise<unknown>): Promise<PluginRunError> {
  const error: unknown = await run.then(() => undefined, (reason: unknown) => reason);
  if (error instanceof PluginRunError) return error;
  throw new Error(`expected a PluginRunError, got ${String(error)}`);
}

t.test('passes stdin and the environment, returns output and code', async (t) => {
  const path = await script(t.testdir(), 'plugin', 'cat; echo "$CNI_COMMAND $SECRET_OF_DAEMON" >&2; exit 3');
  process.env['SECRET_OF_DAEMON'] = 'secret';
  t.teardown(() => delete process.env['SECRET_OF_DAEMON']);
  const runner = new ProcessPluginRunner();
  const exit = await runner.run(request(path, { stdin: '{"a":1}', env: { CNI_COMMAND: 'ADD', PATH: process.env['PATH'] ?? '' } }));
  t.same(exit, { stdout: '{"a":1}', stderr: 'ADD \n', exitCode: 3, signal: null });
});

t.test('a plugin that does not read its configuration succeeds', async (t) => {
  const path = await script(t.testdir(), 'plugin', 'exec <&-; echo done');
  const exit = await new ProcessPluginRunner().run(request(path, { stdin: 'x'.repeat(2_000_000) }));
  t.equal(exit.stdout, 'done\n');
});

t.test('a plugin killed by a signal is reported as such', async (t) => {
  const path = await script(t.testdir(), 'plugin', 'kill -TERM $$');
  t.match(await new ProcessPluginRunner().run(request(path)), { exitCode: null, signal: 'SIGTERM' });
});

t.test('N5: at the deadline the plugin dies with its children', async (t) => {
  const dir = t.testdir();
  const path = await script(dir, 'plugin', `echo begun >&2; sleep 60 & echo $! > ${dir}/child; echo $$ > ${dir}/self; sleep 60`);
  const begun = performance.now();
  const error = await failureOf(new ProcessPluginRunner().run(request(path, { timeoutMs: 300 })));
  t.equal(error.failure, 'timeout');
  t.equal(error.message, 'killed after 300 ms');
  t.equal(error.stderr, 'begun\n');
  t.ok(performance.now() - begun < 2500);
  for (const file of ['child', 'self']) {
    const pid = Number(await readFile(join(dir, file), 'utf8'));
    t.ok(await eventually(() => !isRunning(pid)), `${file} is dead`);
  }
});

t.test('an abort kills it too; one that comes first keeps it from starting', async (t) => {
  const dir = t.testdir();
  const path = await script(dir, 'plugin', `echo $$ > ${dir}/self; sleep 60`);
  const runner = new ProcessPluginRunner();
  const controller = new AbortController();
  const run = runner.run(request(path, { signal: controller.signal }));
  t.ok(await eventually(() => readFile(join(dir, 'self'), 'utf8').then((text) => text !== '', () => false)));
  controller.abort();
  t.equal((await failureOf(run)).failure, 'aborted');
  const pid = Number(await readFile(join(dir, 'self'), 'utf8'));
  t.ok(await eventually(() => !isRunning(pid)));

  const other = await script(dir, 'other', `echo ran > ${dir}/other-ran`);
  t.equal((await failureOf(runner.run(request(other, { signal: controller.signal })))).failure, 'aborted');
  await t.rejects(readFile(join(dir, 'other-ran')));
});

t.test('no time left: nothing starts', async (t) => {
  t.equal((await failureOf(new ProcessPluginRunner().run(request('/bin/true', { timeoutMs: 0 })))).failure, 'timeout');
});

t.test('endless output is cut off', async (t) => {
  const path = await script(t.testdir(), 'plugin', 'cat /dev/zero');
  const error = await failureOf(new ProcessPluginRunner({ maxStdoutBytes: 1000 }).run(request(path)));
  t.equal(error.failure, 'output-limit');
  t.match(error.message, /more than 1000 bytes/);
});

t.test('of stderr the end is kept', async (t) => {
  const path = await script(t.testdir(), 'plugin', 'i=0; while [ $i -lt 300 ]; do echo "line $i" >&2; i=$((i+1)); done');
  const { stderr } = await new ProcessPluginRunner({ maxStderrBytes: 100 }).run(request(path));
  t.equal(Buffer.byteLength(stderr), 100);
  t.ok(stderr.endsWith('line 298\nline 299\n'));
});

t.test('a child in the background that holds the output does not hold the run', async (t) => {
  const dir = t.testdir();
  const path = await script(dir, 'plugin', `sleep 60 & echo $! > ${dir}/child; echo '{}'`);
  const begun = performance.now();
  const exit = await new ProcessPluginRunner({ drainMs: 100 }).run(request(path, { timeoutMs: 30_000 }));
  t.match(exit, { stdout: '{}\n', exitCode: 0 });
  t.ok(performance.now() - begun < 5000);
  const child = Number(await readFile(join(dir, 'child'), 'utf8'));
  t.ok(isRunning(child), 'it is left alone');
  process.kill(child, 'SIGKILL');
});

t.test('what cannot be started is said with its reason', async (t) => {
  const dir = t.testdir({ 'not-executable': 'x' });
  const runner = new ProcessPluginRunner();
  const cases: Array<[string, Partial<PluginRequest>, RegExp]> = [
    [join(dir, 'absent'), {}, /cannot start .*absent: ENOENT/],
    [join(dir, 'not-executable'), {}, /EACCES/],
    ['/bin/true', { env: { A: 'a\0b' } }, /cannot start \/bin\/true: ERR_INVALID_ARG_VALUE/],
  ];
  for (const [path, more, message] of cases) {
    const error = await failureOf(runner.run(request(path, more)));
    t.equal(error.failure, 'spawn');
    t.match(error.message, message);
  }
});

t.test('an executable that is being written is tried again', async (t) => {
  const dir = t.testdir();
  const path = join(dir, 'true');
  const busy = await open(path, 'w', 0o755);
  await busy.writeFile(await readFile('/bin/true'));
  const run = new ProcessPluginRunner().run(request(path));
  await delay(100);
  await busy.close();
  t.equal((await run).exitCode, 0);
});

t.test('an executable that stays busy fails at the deadline or on abort', async (t) => {
  const path = join(t.testdir(), 'true');
  const busy = await open(path, 'w', 0o755);
  t.teardown(() => busy.close());
  await busy.writeFile(await readFile('/bin/true'));
  t.equal((await failureOf(new ProcessPluginRunner().run(request(path, { timeoutMs: 250 })))).failure, 'timeout');
  t.equal((await failureOf(new ProcessPluginRunner().run(request(path, { signal: AbortSignal.timeout(100) })))).failure, 'aborted');
});

t.test('finds a plugin in the first directory that has it', async (t) => {
  const dir = t.testdir({ a: { folder: {} }, b: { one: '', folder: '' }, c: { one: '', two: '' } });
  const dirs = ['a', 'b', 'c'].map((name) => join(dir, name));
  const runner = new ProcessPluginRunner();
  t.equal(await runner.find('one', dirs), join(dir, 'b', 'one'));
  t.equal(await runner.find('two', dirs), join(dir, 'c', 'two'));
  t.equal(await runner.find('folder', dirs), join(dir, 'b', 'folder'), 'a directory is no plugin');
  t.equal(await runner.find('three', dirs), undefined);
  for (const type of ['', '.', '..', '../c/two', 'a\\b', 'x\0']) t.equal(await runner.find(type, dirs), undefined);
});
