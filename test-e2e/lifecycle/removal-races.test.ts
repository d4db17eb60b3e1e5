import { ContainerState } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import { eventually } from '../harness/eventually.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { CALL, TestPod } from '../harness/pods.js';

await onEachEngine(
  'stops and removals that meet',
  async (t, node) => {
    const { runtime } = node.cri;

    await t.test('L5: twenty parallel removals of one container, running and exited, all succeed', async (t) => {
      const pod = await TestPod.run(node);
      for (const container of [await pod.start(), await pod.script('exit 0')]) {
        const removals = Array.from({ length: 20 }, () => runtime.removeContainer({ containerId: container.id }, CALL));
        t.strictSame((await Promise.allSettled(removals)).filter(({ status }) => status === 'rejected'), []);
        await t.rejects(container.status(), { code: code.NOT_FOUND });
      }
      const stops = Array.from({ length: 10 }, () => runtime.stopPodSandbox({ podSandboxId: pod.id }, CALL));
      t.strictSame((await Promise.allSettled(stops)).filter(({ status }) => status === 'rejected'), []);
      const removals = Array.from({ length: 10 }, () => runtime.removePodSandbox({ podSandboxId: pod.id }, CALL));
      t.strictSame((await Promise.allSettled(removals)).filter(({ status }) => status === 'rejected'), []);
    });

    await t.test('L6: a ready pod with running containers is removed at once', async (t) => {
      const pod = await TestPod.run(node);
      await Promise.all([pod.start(), pod.start({ command: ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'] })]);
      await runtime.removePodSandbox({ podSandboxId: pod.id }, CALL);
      t.strictSame((await runtime.listPodSandbox({}, CALL)).items, []);
    });

    await t.test('L7: a hung shim delays its own calls only', async (t) => {
      const [stuck, free] = [await TestPod.run(node), await TestPod.run(node)];
      const container = await stuck.start();
      const other = await free.start();
      const shim = (await node.state()).processes.find((line) => line.includes('containerd-shim') && line.includes(stuck.id));
      const pid = Number.parseInt(shim ?? '', 10);
      t.ok(pid > 1);
      process.kill(pid, 'SIGSTOP');
      try {
        const started = Date.now();
        t.equal((await runtime.listContainers({}, CALL)).containers.length, 2);
        t.equal((await runtime.listPodSandbox({}, CALL)).items.length, 2);
        t.match(await other.exec(['echo', 'free']), { stdout: 'free\n' });
        const third = await TestPod.run(node);
        await third.remove();
        t.ok(Date.now() - started < 10_000, `others are not delayed: ${Date.now() - started} ms`);
        await t.rejects(
          runtime.stopContainer({ containerId: container.id, timeout: 0n }, { timeoutMs: 3_000 }),
          { code: code.DEADLINE_EXCEEDED },
          'the stuck one ends at its caller\'s deadline',
        );
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await eventually(() => container.stop(), 20_000, 500);
      t.match(await container.exit(), { state: ContainerState.CONTAINER_EXITED });
      await Promise.all([stuck.remove(), free.remove()]);
    });

    await t.test('L10: the shim leaves during a stop', async (t) => {
      for (let turn = 0; turn < 5; turn++) {
        const pod = await TestPod.run(node);
        const container = await pod.start({ command: ['sh', '-c', 'sleep 0.0$(($$ % 5)); exit 6'] });
        const results = await Promise.allSettled([container.stop(5n), pod.stop(), container.remove()]);
        t.strictSame(results.filter(({ status }) => status === 'rejected'), []);
        await pod.remove();
      }
    });
  },
  { only: 'criquet' },
);
