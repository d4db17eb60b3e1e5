import 'reflect-metadata';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import type { Containerd } from '@criquet/runtime-containerd';
import { status } from '@grpc/grpc-js';
import { test, type Test } from 'tap';
import type { CriquetConfig } from '../../src/config/index.js';
import { Shims } from '../../src/runtime/shims.js';
import { PauseTask } from '../../src/sandbox/pause-task.js';
import type { Containers, NodeRoots, Sandboxes } from '../../src/tokens.js';
import { answered, fakeShim, refused } from './fake-shim.js';

const EXEC = { containerId: 'c1', execId: 'e1', stdin: '', stdout: '', stderr: '', terminal: false, spec: { typeUrl: 'T', value: Buffer.alloc(0) } };

async function until(condition: () => boolean): Promise<void> {
  for (const end = performance.now() + 5_000; !condition() && performance.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** containerd as far as it is asked, and the one sandbox `sb` with the container `c1`. */
function around(proc: string, pausePid: number, all: readonly { readonly sandboxId: string }[] = [{ sandboxId: 'sb' }]) {
  const asked: string[] = [];
  const say = (name: string) => () => {
    asked.push(name);
    return Promise.resolve({ pid: 0, exitStatus: 0, exitedAt: 0n });
  };
  const tasks = { exec: say('exec'), deleteProcess: say('deleteProcess'), kill: say('kill'), wait: say('wait'), delete: say('delete') };
  const containerd = { tasks, containers: {} } as unknown as Containerd;
  let sandbox = { phase: 'ready', pid: pausePid };
  const note = (_id: string, change: (record: typeof sandbox) => typeof sandbox) => (sandbox = change(sandbox));
  const removed: ((before: { id: string }, after: undefined) => void)[] = [];
  const sandboxes = { get: () => sandbox, observe: (observer: (typeof removed)[number]) => void removed.push(observer), note } as unknown as Sandboxes;
  const containers = { get: (id: string) => (id === 'c1' ? { sandboxId: 'sb', pid: 0 } : undefined), all: () => all } as unknown as Containers;
  const config = { containerd: { namespace: 'k8s.io', callTimeout: 1_000 } } as CriquetConfig;
  const shims = new Shims(config, containerd, sandboxes, containers, { proc } as NodeRoots);
  const remove = () => {
    for (const observer of removed) observer({ id: 'sb' }, undefined);
  };
  return { asked, shims, remove, phase: () => sandbox.phase, pause: new PauseTask(containerd, sandboxes, shims) };
}

test('a process is added to and deleted from the shim itself', async (t) => {
  const { proc, methods } = await fakeShim(t, 'sb', [20], { Exec: answered(), Delete: answered(Buffer.from([0x10, 3])) });
  const { asked, shims } = around(proc, 20);
  await shims.exec(EXEC);
  t.match(await shims.deleteProcess('c1', 'e1'), { exitStatus: 3 });
  t.same([methods, asked], [['Exec', 'Delete'], []]);
});

test('where the shim cannot be asked, or does not know the container, containerd is', async (t) => {
  const unknowing = await fakeShim(t, 'sb', [20], { Exec: refused(status.NOT_FOUND) });
  const other = await fakeShim(t, 'another', [20], {});
  for (const { proc } of [unknowing, other]) {
    const { asked, shims } = around(proc, 20);
    await shims.exec(EXEC);
    t.same(asked, ['exec']);
  }
});

test('what a shim refuses for another reason is told', async (t) => {
  const { proc } = await fakeShim(t, 'sb', [20], { Exec: refused(status.FAILED_PRECONDITION) });
  const { asked, shims } = around(proc, 20);
  await t.rejects(shims.exec(EXEC), { code: status.FAILED_PRECONDITION });
  t.same(asked, []);
});

async function sleeping(t: Test) {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  await once(child, 'spawn');
  t.teardown(() => child.kill('SIGKILL'));
  return { child, pid: child.pid ?? 0 };
}

test('a pause process that the shim has started is killed, and no OCI runtime run for it', async (t) => {
  const { child, pid } = await sleeping(t);
  const { proc, methods } = await fakeShim(t, 'sb', [pid], { Wait: answered(Buffer.from([0x08, 0x89, 0x01])) });
  const { asked, pause, phase } = around(proc, pid);
  const ended = once(child, 'exit');
  await pause.remove('sb');
  t.equal((await ended)[1], 'SIGKILL');
  t.same([methods, asked], [['Wait'], ['delete']]);
  t.equal(phase(), 'stopped');
});

test('a process that has the pid of a pause process by now is left alone', async (t) => {
  const { child, pid } = await sleeping(t);
  const { proc, stranger } = await fakeShim(t, 'sb', [], {});
  await stranger(pid);
  const { asked, pause } = around(proc, pid);
  await pause.remove('sb');
  t.equal(child.exitCode ?? child.signalCode, null, 'it runs');
  t.same(asked, ['kill', 'wait', 'delete']);
});

test('the shim of a removed sandbox is ended with its socket, unless a container is there', async (t) => {
  const { proc, methods, socketPath } = await fakeShim(t, 'sb', [], { Shutdown: answered() });
  await around(proc, 0).shims.shutDown('sb');
  t.same(methods, [], 'c1 is there');
  const { shims } = around(proc, 0, []);
  await shims.shutDown('sb');
  t.same(methods, ['Shutdown']);
  await t.rejects(access(socketPath), { code: 'ENOENT' });
  await shims.shutDown('sb');
  await shims.shutDown('of nobody');
});

test('a wait that nobody needs any more says nothing of the shim', async (t) => {
  const { proc, methods, stranger } = await fakeShim(t, 'sb', [20], { Exec: answered() });
  const { asked, shims } = around(proc, 20);
  await shims.exec(EXEC);
  const over = new AbortController();
  const waiting = shims.wait('c1', '', over.signal);
  over.abort(new Error('over'));
  await t.rejects(waiting, { message: 'over' });
  // Looked for again, it would not be found.
  await stranger(20);
  await shims.exec(EXEC);
  t.same([methods, asked], [['Exec', 'Exec'], []]);
});

test('a shim that was started since the last look is ended too', async (t) => {
  const { proc, methods, hide, show } = await fakeShim(t, 'sb', [], { Shutdown: answered() });
  const { shims } = around(proc, 0, []);
  await hide();
  await t.rejects(shims.wait('sb', '', new AbortController().signal), { code: status.NOT_FOUND });
  await show();
  await shims.shutDown('sb');
  t.same(methods, ['Shutdown']);
});

test('a shim keeps one connection, which ends when the sandbox is removed or the shim does not know its container', async (t) => {
  const { proc, methods, sockets } = await fakeShim(t, 'sb', [20], { Exec: answered(), Delete: refused(status.NOT_FOUND) });
  const { shims, remove } = around(proc, 20);
  const is = async (open: number, when: string) => {
    await until(() => sockets.size === open);
    t.equal(sockets.size, open, when);
  };
  await Promise.all(Array.from({ length: 20 }, () => shims.exec(EXEC)));
  await is(1, 'that of the last of those that looked for it at once');
  for (let call = 0; call < 20; call++) await shims.exec(EXEC);
  t.equal(methods.length, 40);
  t.equal(sockets.size, 1);
  remove();
  await is(0, 'removed');
  await shims.exec(EXEC);
  await is(1, 'another');
  await shims.deleteProcess('c1', 'e1');
  await is(0, 'not known');
});

test('one that has gone since the last call: containerd is asked', async (t) => {
  const { proc, sockets, stopListening } = await fakeShim(t, 'sb', [20], { Exec: answered() });
  const { asked, shims } = around(proc, 20);
  await shims.exec(EXEC);
  await stopListening();
  for (const socket of sockets) socket.destroy();
  await shims.exec(EXEC);
  t.same(asked, ['exec']);
});
