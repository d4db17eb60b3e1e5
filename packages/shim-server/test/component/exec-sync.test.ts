import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import type { FakeProcess } from '@criquet/runtime-containerd/testing';
import { test } from 'tap';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

/** A running container whose commands do what `program` says. */
async function running(shim: Shim, program: (process: FakeProcess) => void | Promise<void>, change = {}): Promise<string> {
  shim.containerd.program = (process) => (process.execId === '' ? undefined : program(process));
  return shim.startContainer(await shim.runPod(), change);
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

/** Exec processes and FIFOs that are left, beside the container's own. */
async function left(shim: Shim, containerId: string): Promise<string[]> {
  return [...shim.containerd.task(NAMESPACE, containerId).execs.keys(), ...(await shim.ioFiles(containerId)).filter((name) => !/^std(in|out|err)$/.test(name))];
}

/** Of a call that failed things are taken away soon after its answer. */
async function nothingLeft(shim: Shim, containerId: string): Promise<void> {
  await eventually(async () => {
    const found = await left(shim, containerId);
    if (found.length > 0) throw new Error(found.join());
  });
}

test('output of both streams, exit code, and nothing left', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await running(shim, async (process) => {
    await process.stdout(`args ${process.args.join(' ')}\n`);
    await process.stderr('to stderr');
    process.exit(7);
  });
  const answer = await shim.cri.runtime.execSync({ containerId, cmd: ['sh', '-c', 'x'], timeout: 10n });
  t.equal(text(answer.stdout), 'args sh -c x\n');
  t.equal(text(answer.stderr), 'to stderr');
  t.equal(answer.exitCode, 7);
  await nothingLeft(shim, containerId);
});

test('the command runs as the container does: user, environment, directory, without a terminal', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  let seen: FakeProcess['process'];
  const containerId = await running(
    shim,
    (process) => {
      seen = process.process;
      process.exit(0);
    },
    { tty: true, workingDir: '/w', envs: [{ key: 'A', value: Buffer.from('B') }], linux: { securityContext: { runAsUsername: 'app' } } },
  );
  await shim.cri.runtime.execSync({ containerId, cmd: ['x'] });
  t.match(seen, { args: ['x'], cwd: '/w', terminal: false, user: { uid: 1000, gid: 1000 } });
  t.ok(seen?.env?.includes('A=B'));
});

test('timeout: DEADLINE_EXCEEDED, and the process is killed and deleted', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  let started: FakeProcess | undefined;
  const containerId = await running(shim, (process) => {
    started = process;
    process.onSignal(() => undefined);
  });
  const began = Date.now();
  await t.rejects(shim.cri.runtime.execSync({ containerId, cmd: ['sleep'], timeout: 1n }), { code: status.DEADLINE_EXCEEDED, details: /1 s/ });
  t.ok(Date.now() - began >= 990 && Date.now() - began < 3_000);
  await nothingLeft(shim, containerId);
  t.same(started?.signals, [9]);
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1);
});

test('timeout: the time that a busy shim takes to start the command does not count', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await running(shim, (process) => process.exit(0));
  shim.containerd.control.delay('tasks.start', 1_500);
  t.equal((await shim.cri.runtime.execSync({ containerId, cmd: ['x'], timeout: 1n })).exitCode, 0);
});

test('the caller goes away while the command is being started: it is taken away when the start has ended', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await running(shim, () => undefined);
  const release = shim.containerd.control.hang('tasks.start');
  await t.rejects(shim.cri.runtime.execSync({ containerId, cmd: ['x'] }, { timeoutMs: 300 }), { code: status.DEADLINE_EXCEEDED });
  await new Promise((resolve) => setTimeout(resolve, 200));
  // An OCI runtime at work on it would start it all the same, and nobody would know.
  t.same(shim.containerd.control.requests('tasks.deleteProcess'), [], 'not before');
  release();
  await nothingLeft(shim, containerId);
});

test('timeout 0 is none', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await running(shim, async (process) => {
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    process.exit(0);
  });
  t.equal((await shim.cri.runtime.execSync({ containerId, cmd: ['x'], timeout: 0n })).exitCode, 0);
});

for (const how of ['cancels', 'deadline'] as const) {
  test(`the caller goes away (${how}): the process is killed and deleted`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    let started: FakeProcess | undefined;
    const containerId = await running(shim, (process) => void (started = process));
    const abort = new AbortController();
    const call = shim.cri.runtime.execSync({ containerId, cmd: ['x'] }, how === 'cancels' ? { signal: abort.signal } : { timeoutMs: 500 });
    call.catch(() => undefined);
    await eventually(() => {
      if (started === undefined) throw new Error('not started');
    });
    abort.abort();
    await t.rejects(call, { code: how === 'cancels' ? status.CANCELLED : status.DEADLINE_EXCEEDED });
    await nothingLeft(shim, containerId);
    t.same(started?.signals, [9]);
  });
}

test('S1 a background child holds the streams: answered after a bounded wait, with what was said', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const closers: (() => Promise<void>)[] = [];
  const containerId = await running(shim, async (process) => {
    await process.stdout('hi');
    const { streams } = process as unknown as { streams: { close: () => Promise<void> } };
    closers.push(streams.close.bind(streams));
    streams.close = () => Promise.resolve();
    process.exit(0);
  });
  const began = Date.now();
  const answers = await Promise.all(Array.from({ length: 20 }, () => shim.cri.runtime.execSync({ containerId, cmd: ['x'], timeout: 0n })));
  t.ok(Date.now() - began < 4_000);
  t.ok(answers.every(({ exitCode, stdout }) => exitCode === 0 && text(stdout) === 'hi'));
  await nothingLeft(shim, containerId);
  for (const close of closers) await close();
});

test('S2 endless output: both streams together are capped, and the process is not blocked', async (t) => {
  const limit = 256 * 1024;
  const shim = await Shim.start({ change: (config) => ({ ...config, container: { ...config.container, execSyncOutputLimit: limit } }) });
  t.teardown(() => shim.close());
  const containerId = await running(shim, async (process) => {
    for (let chunk = 0; chunk < 40; chunk++) {
      await process.stdout(Buffer.alloc(64 * 1024, 'o'));
      await process.stderr(Buffer.alloc(1024, 'e'));
    }
    process.exit(0);
  });
  const { stdout, stderr, exitCode } = await shim.cri.runtime.execSync({ containerId, cmd: ['x'], timeout: 20n });
  t.equal(exitCode, 0);
  t.equal(stdout.length + stderr.length, limit);
  t.ok(stderr.length > 0);
});

test('S2 the greatest reply passes the kubelet\'s limit', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await running(shim, async (process) => {
    await process.stdout(Buffer.alloc(17 * 1024 * 1024, 'o'));
    process.exit(0);
  });
  const { stdout } = await shim.cri.runtime.execSync({ containerId, cmd: ['x'] });
  t.equal(stdout.length, shim.config.container.execSyncOutputLimit);
});

test('a command that cannot be started', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await running(shim, () => undefined);
  shim.containerd.control.fail('tasks.start', { code: status.UNKNOWN, details: 'OCI runtime exec failed: exec: "nope": executable file not found in $PATH', times: 1 });
  await t.rejects(shim.cri.runtime.execSync({ containerId, cmd: ['nope'] }), { code: status.UNKNOWN, details: /^start the exec process: .*not found in \$PATH/ });
  await nothingLeft(shim, containerId);
});

test('every call to containerd fails once: nothing is left', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await running(shim, (process) => process.exit(0));
  for (const call of ['containers.get', 'tasks.exec', 'tasks.start']) {
    for (const afterwards of [false, true]) {
      const remove = shim.containerd.control.fail(call, { code: status.UNAVAILABLE, times: 1, afterwards });
      await t.rejects(shim.cri.runtime.execSync({ containerId, cmd: ['x'] }), { code: status.UNAVAILABLE }, `${call} ${afterwards}`);
      remove();
      await nothingLeft(shim, containerId);
    }
  }
});

test('the process cannot be deleted: the FIFOs go all the same, and the caller has its answer', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await running(shim, async (process) => {
    await process.stdout('hi');
    process.exit(0);
  });
  const remove = shim.containerd.control.fail('tasks.deleteProcess', { code: status.UNKNOWN, details: 'no' });
  const answer = shim.cri.runtime.execSync({ containerId, cmd: ['x'] });
  await eventually(async () => {
    if (shim.containerd.control.requests('tasks.deleteProcess').length < 2) throw new Error('not yet');
    // The directory tells of the process until that is deleted.
    const [execId = ''] = (await shim.ioFiles(containerId)).filter((name) => !/^std/.test(name));
    const files = await readdir(join(shim.config.stateDir, 'io', containerId, execId));
    if (files.length > 0) throw new Error(files.join());
  });
  remove();
  t.equal(text((await answer).stdout), 'hi');
  await nothingLeft(shim, containerId);
});

test('the container ends under its command', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await running(shim, async (process) => {
    await process.stdout('hi');
    shim.containerd.process(NAMESPACE, containerId).exit(0);
  });
  const { stdout, exitCode } = await shim.cri.runtime.execSync({ containerId, cmd: ['x'], timeout: 10n });
  t.equal(exitCode, 137);
  t.equal(text(stdout), 'hi');
});

test('only a running container runs commands', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.createContainer(await shim.runPod());
  await t.rejects(shim.cri.runtime.execSync({ containerId, cmd: ['x'] }), { code: status.FAILED_PRECONDITION });
  await shim.cri.runtime.startContainer({ containerId });
  await t.rejects(shim.cri.runtime.execSync({ containerId, cmd: [] }), { code: status.INVALID_ARGUMENT, details: /cmd/ });
  await t.rejects(shim.cri.runtime.execSync({ containerId, cmd: ['x'], timeout: -1n }), { code: status.INVALID_ARGUMENT, details: /timeout/ });
  await shim.cri.runtime.stopContainer({ containerId });
  await t.rejects(shim.cri.runtime.execSync({ containerId, cmd: ['x'] }), { code: status.FAILED_PRECONDITION });
});

test('100 commands at once, descriptors flat', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await running(shim, async (process) => {
    await process.stdout(process.args[0] ?? '');
    process.exit(0);
  });
  const descriptors = async () => (await readdir('/proc/self/fd')).length;
  await shim.cri.runtime.execSync({ containerId, cmd: ['warm'] });
  const before = await descriptors();
  const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => shim.cri.runtime.execSync({ containerId, cmd: [`${index}`] })));
  t.same(answers.map(({ stdout }) => text(stdout)), Array.from({ length: 100 }, (_, index) => `${index}`));
  await eventually(async () => {
    const now = await descriptors();
    if (now > before + 2) throw new Error(`${now} instead of ${before}`);
  });
  await nothingLeft(shim, containerId);
});
