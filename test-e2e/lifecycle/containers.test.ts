import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ContainerState, CriCallError, Signal } from '@criquet/cri-api';
import { CountingContainer } from '../faults/counting-container.js';
import { eventually } from '../harness/eventually.js';
import { onEachEngine, runtimeUnderTest } from '../harness/on-each-engine.js';
import { CALL, TestPod, type TestContainer } from '../harness/pods.js';

const ROTATIONS = process.env.CRIQUET_E2E_LONG === '1' ? 200 : 40;

await onEachEngine('containers', async (t, node) => {
  const { runtime } = node.cri;
  const pod = await TestPod.run(node);

  await t.test('exit codes and reasons', async (t) => {
    const completed = await (await pod.script('exit 0')).status();
    t.match(completed, { exitCode: 0, reason: 'Completed', state: ContainerState.CONTAINER_EXITED });
    const failed = await (await pod.script('exit 42')).status();
    t.match(failed, { exitCode: 42, reason: 'Error' });
    const killed = await (await pod.script('kill -9 $$')).status();
    t.match(killed, { exitCode: 137, reason: 'Error' }, 'a signal is 128 and its number');
    const oom = await pod.start({
      command: ['sh', '-c', 'x=a; while true; do x=$x$x; done'],
      linux: { resources: { memoryLimitInBytes: 32 * 1024 * 1024, memorySwapLimitInBytes: 32 * 1024 * 1024 } },
    });
    t.match(await oom.exit(30_000), { exitCode: 137, reason: 'OOMKilled' });
  });

  await t.test('a command that is not there: StartError, 128', async (t) => {
    const container = await pod.create({ command: ['/no/such/program'] });
    await t.rejects(runtime.startContainer({ containerId: container.id }, CALL), { message: /no such file/i });
    const status = await container.status();
    t.match(status, { state: ContainerState.CONTAINER_EXITED, exitCode: 128, reason: 'StartError' });
    t.match(status.message, /no such file/i);
    await container.remove();
  });

  await t.test('command, arguments, environment and directory: the configuration over the image', async (t) => {
    const image = { image: 'e2e.criquet.test/criquet-e2e/entrypoint:1' };
    const line = async (overrides: object) => {
      const container = await pod.start({ image, command: [], ...overrides });
      await container.exit();
      return (await container.log()).map(({ text }) => text).join('\n');
    };
    t.equal(await line({}), 'entry command in /var/www FROM_IMAGE=yes BOTH=image');
    t.equal(await line({ args: ['x', 'y'] }), 'entry x y in /var/www FROM_IMAGE=yes BOTH=image', 'args replace Cmd');
    t.equal(await line({ command: ['sh', '-c', 'echo "$0 with $#"'] }), 'sh with 0', 'a command replaces Entrypoint and drops Cmd');
    t.equal(
      await line({ envs: [{ key: 'BOTH', value: Buffer.from('pod') }], workingDir: '/tmp' }),
      'entry command in /tmp FROM_IMAGE=yes BOTH=pod',
    );
  });

  await t.test("L9: CRI's stop signal over the image's over SIGTERM; status says it; the image need not be there any more", async (t) => {
    const cases = [
      { tag: '1', asked: Signal.RUNTIME_DEFAULT, reported: Signal.SIGUSR1, exitCode: 7 },
      { tag: 'real-time', asked: Signal.RUNTIME_DEFAULT, reported: Signal.SIGRTMINPLUS3, exitCode: 9 },
      { tag: 'number', asked: Signal.RUNTIME_DEFAULT, reported: Signal.SIGTERM, exitCode: 8 },
      { tag: '1', asked: Signal.SIGHUP, reported: Signal.SIGHUP, exitCode: 6 },
    ];
    await Promise.all(
      cases.map(async ({ tag, asked, reported, exitCode }) => {
        const image = { image: `e2e.criquet.test/criquet-e2e/stop-signal:${tag}` };
        const container = await pod.start({ image, command: [], stopSignal: asked });
        await eventually(async () => expectLine(container, 'ready'));
        t.equal(Signal[(await container.status()).stopSignal], Signal[reported], `image ${tag}, asked ${Signal[asked]}`);
        await node.cri.image.removeImage({ image }, CALL);
        await container.stop(10n);
        t.equal((await container.exit()).exitCode, exitCode, `image ${tag}, asked ${Signal[asked]}`);
      }),
    );
  });

  await t.test('L9: timeout 0 kills at once', async (t) => {
    const container = await pod.start({ command: ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'] });
    const started = Date.now();
    await container.stop(0n);
    t.ok(Date.now() - started < 2_000);
    t.equal((await container.exit()).exitCode, 137);
    await container.stop(0n);
  });

  await t.test('L1: a second stop with a nearer deadline wins', { skip: runtimeUnderTest !== 'criquet' && 'the yardstick keeps the first' }, async (t) => {
    const container = await pod.start({ command: ['sh', '-c', 'trap "echo got TERM" TERM; echo ready; while :; do sleep 0.1; done'] });
    await eventually(async () => expectLine(container, 'ready'));
    const first = container.stop(300n);
    await eventually(async () => expectLine(container, 'got TERM'));
    const started = Date.now();
    await container.stop(0n);
    await first;
    t.ok(Date.now() - started < 2_000, 'both return within two seconds of the kill');
    t.equal((await container.log()).filter(({ text }) => text === 'got TERM').length, 1, 'TERM was sent once');
  });

  await t.test('L6: removing what runs stops it first', async (t) => {
    const container = await pod.start();
    await container.remove();
    await t.rejects(container.status(), { code: 5 });
    await container.remove();
  });

  await t.test('ExecSync: code, both streams, time limit', async (t) => {
    const container = await pod.start();
    t.match(await container.exec(['sh', '-c', 'exit 42']), { exitCode: 42 });
    t.match(await container.exec(['sh', '-c', 'cat /dev/zero | head -c 300000 | tr "\\0" x']), { stdout: /^x{300000}$/ });
    await t.rejects(container.exec(['sleep', '30'], 1n), { code: 4 }, 'DEADLINE_EXCEEDED');
    await t.rejects(container.exec(['/no/such/program']), { message: /no such file|not found/i });
    t.match(await container.exec(['sh', '-c', 'echo hi; sleep 300 >/dev/null 2>&1 &']), { exitCode: 0, stdout: 'hi\n' });
    await container.stop();
    await t.rejects(container.exec(['true']), 'not in a stopped container');
  });

  await t.test('resources reach the cgroup', async (t) => {
    const container = await pod.start({
      linux: { resources: { memoryLimitInBytes: 64 * 1024 * 1024, cpuShares: 512, cpuQuota: 20_000, cpuPeriod: 100_000 } },
    });
    const cgroups = (await node.state()).cgroups.filter((path) => path.includes(container.id));
    const memory = cgroups.find((path) => path.startsWith('/sys/fs/cgroup/memory/'));
    if (memory !== undefined) t.equal((await readFile(`${memory}/memory.limit_in_bytes`, 'utf8')).trim(), String(64 * 1024 * 1024));
    const cpu = cgroups.find((path) => path.startsWith('/sys/fs/cgroup/cpu/'));
    if (cpu !== undefined) t.equal((await readFile(`${cpu}/cpu.cfs_quota_us`, 'utf8')).trim(), '20000');
    t.ok(cgroups.length > 0, 'below the pod\'s cgroup parent');
    await container.remove();
  });

  await t.test('mounts: a directory, a file, read-only', async (t) => {
    const shared = join(node.directory, 'shared');
    await writeFile(shared, 'from the host\n');
    const container = await pod.script('cat /mnt/file; echo x > /mnt/file || echo refused', {
      mounts: [{ hostPath: shared, containerPath: '/mnt/file', readonly: true }],
    });
    const texts = (await container.log()).filter(({ stream }) => stream === 'stdout').map(({ text }) => text);
    t.strictSame(texts, ['from the host', 'refused']);
  });

  await t.test(`G2: the log renamed and opened anew every 50 ms, ${ROTATIONS} times, while its container exits`, async (t) => {
    const writer = await CountingContainer.start(pod, 'rotated', { bytes: 60 }, 5);
    const { container } = writer;
    let rotations = 0;
    try {
      for (; rotations < 2 * ROTATIONS; rotations++) {
        if (rotations === ROTATIONS) await writer.letEnd();
        await writer.rotate(node);
        t.ok(rotations >= ROTATIONS || (await exists(container.logFile)), 'a new file is there when the call returns');
        await pause(50);
      }
    } catch (error) {
      t.ok(error instanceof CriCallError && rotations >= ROTATIONS, 'refused once it has ended');
    }
    t.equal((await container.exit()).exitCode, 5);
    t.ok(rotations < 2 * ROTATIONS && !(await exists(container.logFile)), 'and no new file is made then');
    const last = await writer.last();
    t.strictSame(await writer.account(last), { stdout: { lines: last, last, gaps: [], wrong: [] }, stderr: { lines: last, last, gaps: [], wrong: [] } });
    t.comment(`${rotations} rotations, ${last} lines in each stream`);
  });

  await pod.remove();
});

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function expectLine(container: TestContainer, line: string): Promise<void> {
  const texts = (await container.log()).map(({ text }) => text);
  if (!texts.includes(line)) throw new Error(`no line ${JSON.stringify(line)} among ${JSON.stringify(texts)}`);
}
