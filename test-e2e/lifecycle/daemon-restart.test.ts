import { ContainerState, PodSandboxState } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import { eventually } from '../harness/eventually.js';
import { onEachEngine, type Test } from '../harness/on-each-engine.js';
import { CALL, TestPod, type TestContainer } from '../harness/pods.js';

/** A script that counts on its standard output, ten lines a second. */
const COUNT = 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done';

await onEachEngine(
  'the daemon goes and comes back',
  async (t, node) => {
    const { runtime } = node.cri;
    const criquet = node.criquet;
    if (criquet === undefined) throw new Error('no criquet');

    /** Starts it again and waits until the client's channel has found it. */
    const comeBack = async () => {
      await criquet.start();
      await eventually(() => node.expectReady(), 20_000);
    };

    await t.test('SIGTERM: exits 0 within five seconds, removes its socket, containers go on', async (t) => {
      const pod = await TestPod.run(node);
      const ip = await pod.ip();
      const counter = await pod.start({ command: ['sh', '-c', COUNT] });
      const short = await pod.start({ command: ['sh', '-c', 'sleep 1; exit 9'] });
      const created = await pod.create();
      const exited = await pod.script('exit 3');
      await eventually(async () => expectLines(counter, 3));

      const started = Date.now();
      const exit = await criquet.stop('SIGTERM');
      t.match(exit, { code: 0 });
      t.ok(Date.now() - started < 5_000, `${Date.now() - started} ms`);
      await t.rejects(runtime.version({}, { timeoutMs: 1_000 }), { code: code.UNAVAILABLE });
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await comeBack();

      t.equal(await pod.ip(), ip, 'the same address');
      t.match((await runtime.podSandboxStatus({ podSandboxId: pod.id }, CALL)).status, { state: PodSandboxState.SANDBOX_READY });
      t.match(await counter.status(), { state: ContainerState.CONTAINER_RUNNING });
      t.match(await created.status(), { state: ContainerState.CONTAINER_CREATED });
      t.match(await exited.status(), { state: ContainerState.CONTAINER_EXITED, exitCode: 3 });
      t.match(await short.exit(), { exitCode: 9 }, 'its true exit code, though it ended meanwhile');
      t.match(await counter.exec(['echo', 'back']), { stdout: 'back\n' });
      const lines = (await counter.log()).length;
      await eventually(async () => expectLines(counter, lines + 5));
      await expectCounted(t, counter, 0, 'no line is lost by SIGTERM');
      await runtime.startContainer({ containerId: created.id }, CALL);
      await pod.remove();
    });

    await t.test('G4: SIGKILL, twice', async (t) => {
      const pod = await TestPod.run(node);
      const ip = await pod.ip();
      const counter = await pod.start({ command: ['sh', '-c', COUNT] });
      for (let round = 0; round < 2; round++) {
        await eventually(async () => expectLines(counter, round * 10 + 3));
        await criquet.stop('SIGKILL');
        await comeBack();
        t.equal(await pod.ip(), ip);
        t.match(await counter.status(), { state: ContainerState.CONTAINER_RUNNING });
      }
      const lines = (await counter.log()).length;
      await eventually(async () => expectLines(counter, lines + 5));
      // One read buffer a stream may be lost each time; a line here is two or three bytes.
      await expectCounted(t, counter, 20, 'at most what was in a read buffer is lost');
      await pod.remove();
    });

    await t.test('L2: the shim is killed: exited and not ready within seconds, then removed', async (t) => {
      const pod = await TestPod.run(node);
      const container = await pod.start();
      const shim = (await node.state()).processes.find((line) => line.includes('containerd-shim') && line.includes(pod.id));
      t.ok(shim, 'the pod has one shim');
      process.kill(Number.parseInt(shim ?? '', 10), 'SIGKILL');
      const status = await container.exit(10_000);
      t.match(status, { reason: /Unknown|Error/ });
      await eventually(async () => {
        const { status: sandbox } = await runtime.podSandboxStatus({ podSandboxId: pod.id }, CALL);
        if (sandbox?.state !== PodSandboxState.SANDBOX_NOTREADY) throw new Error('still ready');
      });
      await pod.remove();
    });

    await t.test('containerd restarts under it', async (t) => {
      const pod = await TestPod.run(node);
      const ip = await pod.ip();
      const container = await pod.start({ command: ['sh', '-c', COUNT] });
      await node.containerd.stop();
      await t.rejects(runtime.runPodSandbox({ config: TestPod.config(node) }, { timeoutMs: 10_000 }), { code: code.UNAVAILABLE });
      await node.containerd.start();
      await eventually(() => node.expectReady(), 20_000);
      t.equal(await pod.ip(), ip);
      t.match(await container.status(), { state: ContainerState.CONTAINER_RUNNING });
      t.match(await eventually(() => container.exec(['echo', 'back'])), { stdout: 'back\n' });
      const other = await TestPod.run(node);
      const lines = (await container.log()).length;
      await eventually(async () => expectLines(container, lines + 5));
      await expectCounted(t, container, 0, 'no line is lost');
      await Promise.all([pod.remove(), other.remove()]);
    });

    await t.test('a second daemon on the same socket is refused', async (t) => {
      await t.rejects(criquet.startAnother(), { message: /second-criquet ended with [1-9]/ });
      t.ok((await runtime.version({}, CALL)).runtimeName, 'the first goes on');
    });
  },
  { only: 'criquet' },
);

async function expectLines(container: TestContainer, count: number): Promise<void> {
  const { length } = await container.log();
  if (length < count) throw new Error(`${length} of ${count} lines`);
}

/** Asserts that a counter's log counts up without a gap larger than `lost` lines in all, and with nothing twice. */
async function expectCounted(t: Test, container: TestContainer, lost: number, what: string): Promise<void> {
  const numbers = (await container.log()).map(({ text }) => Number(text));
  t.strictSame(
    numbers,
    [...numbers].sort((a, b) => a - b),
    'in order',
  );
  t.equal(new Set(numbers).size, numbers.length, 'nothing twice');
  const missing = (numbers.at(-1) ?? 0) - numbers.length;
  t.ok(missing <= lost, `${what}: ${missing} lines missing`);
}
