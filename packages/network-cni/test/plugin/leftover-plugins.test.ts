import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { test, type Test } from 'tap';
import { endLeftoverPlugins } from '../../src/plugin/leftover-plugins.js';

/** A "plugin" that has started another, as bridge starts host-local; both sleep. */
async function plugin(t: Test, containerId: string, command = 'ADD', seconds = 1000): Promise<{ pid: number; child: number; ended: Promise<unknown> }> {
  const shell = spawn('sh', ['-c', `sleep ${seconds} & echo $!; wait`], {
    detached: true,
    env: { PATH: process.env.PATH, CNI_COMMAND: command, CNI_CONTAINERID: containerId },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.teardown(() => shell.kill('SIGKILL'));
  const ended = once(shell, 'exit');
  const [line] = (await once(shell.stdout, 'data')) as [Buffer];
  return { pid: shell.pid ?? 0, child: Number(line.toString()), ended };
}

const id = () => randomBytes(32).toString('hex');

/** Also true of one that its parent has not waited for. */
async function hasEnded(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State:\tX');
  return /^State:\s[ZX]/m.test(status);
}

test('kills what runs for the given containers, with what it has started, and nothing else', async (t) => {
  const [mine, others] = [id(), id()];
  const left = await plugin(t, mine);
  const other = await plugin(t, others);
  const killed = await endLeftoverPlugins(new Set([mine, id()]));
  t.same(killed.sort(), [left.pid, left.child].sort());
  await left.ended;
  t.ok(await hasEnded(left.child));
  t.notOk(await hasEnded(other.pid));
  t.notOk(await hasEnded(other.child));
  process.kill(other.child, 'SIGKILL');
});

test('a deletion comes to its end, and is killed only when the time is over', async (t) => {
  const mine = id();
  const [addition, deletion] = [await plugin(t, mine), await plugin(t, mine, 'DEL', 1)];
  t.same((await endLeftoverPlugins(new Set([mine]))).sort(), [addition.pid, addition.child].sort());
  t.same(await deletion.ended, [0, null], 'by itself');
  const hangs = await plugin(t, mine, 'DEL');
  const began = performance.now();
  t.same((await endLeftoverPlugins(new Set([mine]), { timeoutMs: 200 })).sort(), [hangs.pid, hangs.child].sort());
  t.ok(performance.now() - began >= 200);
  t.same(await hangs.ended, [null, 'SIGKILL']);
});

test('nothing to do is done at once', async (t) => {
  t.same(await endLeftoverPlugins(new Set()), []);
  t.same(await endLeftoverPlugins(new Set([id()])), []);
});

test('a long environment is read to its end', async (t) => {
  const mine = id();
  const env = { PATH: process.env.PATH, ...Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`A${index}`, 'x'.repeat(8_000)])), CNI_CONTAINERID: mine };
  const sleep = spawn('sleep', ['1000'], { env, stdio: 'ignore' });
  t.teardown(() => sleep.kill('SIGKILL'));
  await once(sleep, 'spawn');
  t.same(await endLeftoverPlugins(new Set([mine])), [sleep.pid]);
});
