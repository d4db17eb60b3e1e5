import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import koffi from 'koffi';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { posixSpawn } from '../../src/process/posix-spawn.js';
import { spawnProcess, type SpawnRequest } from '../../src/process/spawn-process.js';
import { endOfInfo, type ProcessEnd } from '../../src/process/wait-status.js';
import { script } from '../fixtures/script.js';

interface Outcome extends ProcessEnd {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(path: string, args: readonly string[] = [], env: Record<string, string> = {}, input = ''): Promise<Outcome> {
  const child = await spawnProcess({ path, args, env });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [stdout, stderr, end] = await Promise.all([text(child.stdout), text(child.stderr), child.ended]);
  return { pid: child.pid, stdout, stderr, ...end };
}

const shell = (line: string): Promise<Outcome> => run('/bin/sh', ['-c', line], { PATH: process.env['PATH'] ?? '' });

async function errorOf(request: SpawnRequest): Promise<string> {
  try {
    const child = await spawnProcess(request);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    return 'started';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** Pipes alone: what else Node opens meanwhile does not count. */
function openPipes(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('pipe:');
    } catch {
      return false; // that of the directory itself
    }
  }).length;
}

/** Children that this process has, the ended ones too. */
const children = (): string[] => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter((pid) => pid !== '');

/** They are let go of behind the news of their end. */
async function noChildren(test: Test): Promise<void> {
  for (const late = performance.now() + 5_000; children().length > 0 && performance.now() < late; ) await pause(5);
  test.same(children(), [], 'no zombie');
}

t.test('arguments, environment, input and both outputs are passed as they are', async (t) => {
  const env = { A: '1', EMPTY: '', 'WITH SPACE': 'a=b\nc', ÜMLAUT: '☃' };
  const { stdout } = await run('/usr/bin/env', [], env);
  t.equal(stdout, 'A=1\nEMPTY=\nWITH SPACE=a=b\nc\nÜMLAUT=☃\n');
  t.equal((await run('/usr/bin/env')).stdout, '', 'nothing of this process');
  const args = ['-c', 'printf "%s|" "$0" "$@"; echo error >&2', 'zero', '', 'b c', '☃'];
  t.match(await run('/bin/sh', args), { stdout: 'zero||b c|☃|', stderr: 'error\n', exitCode: 0, signal: null });
  const input = 'x'.repeat(1_000_000);
  t.equal((await run('/bin/cat', [], {}, input)).stdout, input, 'more than a pipe holds; and its end is told');
});

t.test('it has / as directory and a session and process group of its own', async (t) => {
  t.equal((await run('/bin/pwd')).stdout, '/\n');
  const { pid, stdout } = await run('/bin/cat', ['/proc/self/stat']);
  // pid (comm) state ppid pgrp session
  t.same(stdout.split(' ').slice(3, 6).map(Number), [process.pid, pid, pid]);
});

t.test('its signals are at their default and none is blocked', async (t) => {
  t.match(readFileSync('/proc/self/status', 'utf8'), /^SigIgn:\t0*1000$/m, 'Node ignores SIGPIPE');
  const { stdout } = await run('/bin/cat', ['/proc/self/status']);
  for (const set of ['SigIgn', 'SigBlk', 'SigCgt']) t.match(stdout, new RegExp(`^${set}:\\t0+$`, 'm'));
});

t.test('it inherits no descriptor of this process but its three pipes', async (t) => {
  const held = openSync('/dev/null', 'r');
  t.teardown(() => closeSync(held));
  const other = await spawnProcess({ path: '/bin/cat', env: {} }); // whose pipes it must not hold
  // What this process was given by the one that started it and is not closed by exec goes on, as with child_process.
  const expected = spawnSync('/bin/ls', ['/proc/self/fd'], { encoding: 'utf8' }).stdout.split('\n');
  t.same((await run('/bin/ls', ['/proc/self/fd'])).stdout.split('\n'), expected);
  t.notOk(expected.includes(String(held)));
  t.match((await run('/bin/ls', ['-l', '/proc/self/fd'])).stdout, /0 -> pipe:.*\n.* 1 -> pipe:.*\n.* 2 -> pipe:/);
  other.stdin.end();
  await other.ended;
});

t.test('exit codes and signals', async (t) => {
  t.match(await run('/bin/true'), { exitCode: 0, signal: null });
  t.match(await shell('exit 255'), { exitCode: 255, signal: null });
  t.match(await shell('kill -TERM $$'), { exitCode: null, signal: 'SIGTERM' });
  t.match(await shell('kill -PIPE $$'), { exitCode: null, signal: 'SIGPIPE' });
  t.same(endOfInfo(3, 6), { exitCode: null, signal: 'SIGABRT' }, 'with a core dump');
  t.same(endOfInfo(2, 34), { exitCode: null, signal: 'signal 34' }, 'a real-time signal');
});

t.test('the end is told though the output is held, and after the output was closed', async (t) => {
  const holding = await spawnProcess({ path: '/bin/sh', args: ['-c', 'sleep 60 & echo $!; exit 4'], env: { PATH: process.env['PATH'] ?? '' } });
  const [child] = (await once(holding.stdout, 'data')) as [Buffer];
  t.same(await holding.ended, { exitCode: 4, signal: null });
  holding.killGroup();
  t.ok(process.kill(Number(child.toString()), 0), 'its group is left alone after its end');
  process.kill(Number(child.toString()), 'SIGKILL');

  t.match(await shell('exec >&- 2>&-; sleep 0.1; exit 5'), { exitCode: 5 });
});

t.test('the group is killed', async (t) => {
  const child = await spawnProcess({ path: '/bin/sh', args: ['-c', 'sleep 60 & echo begun; wait'], env: { PATH: process.env['PATH'] ?? '' } });
  await once(child.stdout, 'data');
  child.killGroup();
  t.same(await child.ended, { exitCode: null, signal: 'SIGKILL' });
  t.equal(await text(child.stdout), '', 'who held the output is dead, too');
});

t.test('what cannot be started has the code of the error', async (t) => {
  const dir = t.testdir({ plain: 'x', directory: {} });
  const busy = join(dir, 'busy');
  const writer = await open(busy, 'w', 0o755);
  t.teardown(() => writer.close());
  await writer.writeFile(readFileSync('/bin/true'));
  const unknown = await script(dir, 'unknown', '');
  const handle = await open(unknown, 'w');
  await handle.writeFile('neither ELF nor #!');
  await handle.close();
  const cases: readonly (readonly [code: string, request: SpawnRequest])[] = [
    ['ENOENT', { path: join(dir, 'absent'), env: {} }],
    ['ENOTDIR', { path: join(dir, 'plain', 'x'), env: {} }],
    ['EACCES', { path: join(dir, 'plain'), env: {} }],
    ['EACCES', { path: join(dir, 'directory'), env: {} }],
    ['ETXTBSY', { path: busy, env: {} }],
    ['ENOEXEC', { path: unknown, env: {} }],
    ['E2BIG', { path: '/bin/true', env: { A: 'x'.repeat(1_000_000) } }],
    ['ERR_INVALID_ARG_VALUE', { path: '/bin/true\0', env: {} }],
    ['ERR_INVALID_ARG_VALUE', { path: '/bin/true', args: ['a\0b'], env: {} }],
    ['ERR_INVALID_ARG_VALUE', { path: '/bin/true', env: { A: 'a\0b' } }],
    ['ERR_INVALID_ARG_VALUE', { path: '/bin/true', env: { 'A\0': 'b' } }],
  ];
  const [before, listeners] = [openPipes(), process.listenerCount('SIGCHLD')];
  for (let round = 0; round < 5; round += 1) for (const [code, request] of cases) t.equal(await errorOf(request), code);
  t.equal(openPipes(), before, 'no descriptor is left of 55 failures');
  t.equal(process.listenerCount('SIGCHLD'), listeners);
  await noChildren(t);
});

t.test('no descriptor is left when there are too few of them', async (t) => {
  await run('/bin/true');
  const before = openPipes();
  const limit = (value: string): boolean => t.equal(spawnSync('prlimit', ['--pid', `${process.pid}`, `--nofile=${value}`], { encoding: 'utf8' }).stderr, '');
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? '';
  limit('200:');
  const codes: string[] = [];
  const held: number[] = [];
  try {
    for (;;) held.push(openSync('/dev/null', 'r'));
  } catch {
    // none is left
  }
  for (let free = 0; free < 6; free += 1) {
    codes.push(await errorOf({ path: '/bin/true', env: {} }));
    closeSync(held.pop() ?? -1);
  }
  for (const fd of held) closeSync(fd);
  limit(`${soft}:`);
  t.same(codes, Array(6).fill('EMFILE'));
  t.equal(openPipes(), before);
  t.match(await run('/bin/true'), { exitCode: 0 });
});

t.test('two hundred, then fifty at once: all are waited for, and nothing is left', async (t) => {
  const before = openPipes();
  for (let round = 0; round < 200; round += 1) await run('/bin/true');
  const ends = await Promise.all(Array.from({ length: 50 }, (_, code) => shell(`echo ${code}; exit ${code}`)));
  t.same(ends.map(({ exitCode }) => exitCode), ends.map((_, code) => code));
  t.same(ends.map(({ stdout }) => stdout), ends.map((_, code) => `${code}\n`));
  t.equal(openPipes(), before);
  await noChildren(t);
  t.equal(process.listenerCount('SIGCHLD'), 0);
});

t.test('hundreds at once: as many as other threads take, and the others after them', async (t) => {
  const ends = await Promise.all(Array.from({ length: 400 }, () => run('/bin/true')));
  t.ok(ends.every(({ exitCode }) => exitCode === 0));
  await noChildren(t);
});

t.test('the event loop goes on while processes are started', async (t) => {
  let turns = 0;
  let starting = true;
  const count = (): void => {
    turns += 1;
    if (starting) setImmediate(count);
  };
  const child = spawnProcess({ path: '/bin/true', env: {} });
  count();
  const { ended } = await child;
  starting = false;
  t.ok(turns > 1, 'it is started by another thread');
  t.same(await ended, { exitCode: 0, signal: null });
});

t.test('child_process goes on beside it, and neither takes the end of the other', async (t) => {
  const others = Array.from({ length: 10 }, (_, code) => once(spawn('sh', ['-c', `sleep 0.0${code}; exit ${code}`]), 'exit'));
  const own = Array.from({ length: 10 }, (_, code) => shell(`sleep 0.0${code}; exit ${100 + code}`));
  const late = once(spawn('sh', ['-c', 'sleep 0.3; exit 42']), 'exit');
  t.same((await Promise.all(own)).map(({ exitCode }) => exitCode), Array.from({ length: 10 }, (_, code) => 100 + code));
  t.same((await Promise.all(others)).map(([code]) => code), Array.from({ length: 10 }, (_, code) => code));
  t.equal((await late)[0], 42, 'its signal is heard after ours is no longer');
});

t.test('an end of which no signal tells is noticed', async (t) => {
  const child = await spawnProcess({ path: '/bin/sh', args: ['-c', 'sleep 60 & echo $!; read line; exit 6'], env: { PATH: process.env['PATH'] ?? '' } });
  const [sleeper] = (await once(child.stdout, 'data')) as [Buffer];
  process.removeAllListeners('SIGCHLD');
  child.stdin.end('\n');
  t.match(await child.ended, { exitCode: 6 });
  process.kill(Number(sleeper.toString()), 'SIGKILL');
});

t.test('one that another part of the process has waited for ends as unknown', async (t) => {
  const waitpid = koffi.load(null).func('int waitpid(int pid, void *status, int options)') as (pid: number, status: null, options: number) => number;
  const child = await spawnProcess({ path: '/bin/true', env: {} });
  t.equal(waitpid(child.pid, null, 0), child.pid);
  t.same(await child.ended, { exitCode: null, signal: null });
  t.same(posixSpawn().wait(child.pid), { exitCode: null, signal: null });
});

t.test('in a worker thread, which gets no signals, the end is noticed', async (t) => {
  const worker = `
    import(${JSON.stringify(new URL('../../src/process/spawn-process.js', import.meta.url).href)}).then(async ({ spawnProcess }) => {
      const child = await spawnProcess({ path: '/bin/sh', args: ['-c', 'exec >&- 2>&-; read line; exit 7'], env: {} });
      child.stdin.end('\\n');
      process.exit((await child.ended).exitCode);
    });`;
  t.same(await once(new Worker(worker, { eval: true }), 'exit'), [7]);
});
