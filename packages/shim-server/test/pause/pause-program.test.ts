import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'tap';
import { pauseProgram } from '../../src/pause/pause-program.js';
import { layOutPauseRoot } from '../../src/pause/pause-root.js';
import { Layout } from '../../src/state/layout.js';

async function writePause(dir: string): Promise<string> {
  const path = join(dir, 'pause');
  await writeFile(path, pauseProgram());
  await chmod(path, 0o755);
  return path;
}

function ended(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} ends it with code 0`, async (t) => {
    const child = spawn(await writePause(t.testdir({})), { stdio: 'ignore' });
    const end = ended(child);
    await sleep(50);
    child.kill(signal);
    t.same(await end, { code: 0, signal: null });
  });
}

test('other signals do not, but SIGKILL does', async (t) => {
  const child = spawn(await writePause(t.testdir({})), { stdio: 'ignore' });
  const end = ended(child);
  await sleep(50);
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE', 'SIGALRM', 'SIGQUIT', 'SIGCHLD'] as const) child.kill(signal);
  await sleep(100);
  t.equal(child.exitCode, null);
  t.equal(child.signalCode, null);
  child.kill('SIGKILL');
  t.match(await end, { signal: 'SIGKILL' });
});

test('it sleeps: no processor time, next to no memory', async (t) => {
  const child = spawn(await writePause(t.testdir({})), { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  await sleep(300);
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
  t.match(status, /State:\s+S/);
  t.ok(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) < 100, 'kB');
  const ticks = (await readFile(`/proc/${child.pid}/stat`, 'utf8')).split(' ');
  t.equal(Number(ticks[13]) + Number(ticks[14]), 0);
});

test('as process 1 of a PID namespace it reaps orphans', async (t) => {
  const pause = await writePause(t.testdir({}));
  // The shell leaves children behind and becomes pause, which inherits them.
  const script = `for i in 1 2 3 4 5; do (sleep 0.1 &) ; done; exec ${pause}`;
  const child = spawn('unshare', ['--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', script], { stdio: 'ignore' });
  const end = ended(child);
  await sleep(800);
  const children = (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')).trim();
  t.match(children, /^\d+$/, 'pause itself');
  t.equal((await readFile(`/proc/${children}/task/${children}/children`, 'utf8')).trim(), '', 'no zombies');
  t.match(await readFile(`/proc/${children}/cmdline`, 'utf8'), new RegExp(pause));
  process.kill(Number(children), 'SIGTERM');
  t.match(await end, { code: 0 });
});

test('a program for each supported architecture, small and well formed', (t) => {
  for (const [arch, machine] of [['x64', 62], ['arm64', 183]] as const) {
    const program = pauseProgram(arch);
    t.ok(program.length < 512, `${arch}: ${program.length} bytes`);
    t.equal(program.subarray(0, 4).toString('latin1'), '\x7fELF');
    t.equal(program.readUInt16LE(18), machine);
    t.equal(program.readBigUInt64LE(24), 0x400000n + 120n, 'the entry follows the headers');
    t.equal(program.readBigUInt64LE(96), BigInt(program.length), 'all of it is loaded');
  }
  t.throws(() => pauseProgram('mips'), { message: /mips.*sandbox_image/ });
  t.end();
});

test('its root: what runc mounts on, and the program; laid out twice it is the same', async (t) => {
  const dir = t.testdir({});
  const layout = new Layout(dir, dir, dir);
  const root = await layOutPauseRoot(layout);
  t.equal(await layOutPauseRoot(layout), root);
  for (const name of ['dev', 'proc', 'sys']) t.ok((await stat(join(root, name))).isDirectory());
  const program = await stat(join(root, 'pause'));
  t.equal(program.mode & 0o777, 0o755);
  t.same(await readFile(join(root, 'pause')), pauseProgram());
});
