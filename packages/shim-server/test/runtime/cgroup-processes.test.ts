import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { killIn } from '../../src/runtime/cgroup-processes.js';

await t.test('a process is killed only when it is in that cgroup by its own account', async (t) => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  const own = /^\d+:.*\/([^/\n]+)$/m.exec(await readFile(`/proc/${child.pid}/cgroup`, 'utf8'))?.[1];
  // The number of a process that ended and became another's looks like this.
  const dir = t.testdir({ another: { 'cgroup.procs': `${child.pid}\n0\n1\n` }, ...(own === undefined ? {} : { [own]: { 'cgroup.procs': `${child.pid}\n` } }) });
  t.equal(await killIn([`${dir}/another`]), 0);
  t.equal(child.exitCode, null);
  t.equal(child.signalCode, null);
  if (own === undefined) return;
  // It may end before the call returns.
  const exited = once(child, 'exit');
  t.equal(await killIn([`${dir}/${own}`]), 1);
  await exited;
  t.equal(child.signalCode, 'SIGKILL');
});
