import { ContainerState, PodSandboxState } from '@criquet/cri-api';
import { onEachEngine, runtimeUnderTest } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';

await onEachEngine('the whole life of a pod', async (t, node) => {
  const { runtime, image } = node.cri;

  await t.test('version and status', async (t) => {
    const version = await runtime.version({ version: '0.1.0' }, CALL);
    t.equal(version.version, '0.1.0', 'the kubelet insists on it');
    t.equal(version.runtimeApiVersion, 'v1');
    t.not(version.runtimeName, '');
    const { status, runtimeHandlers } = await runtime.status({}, CALL);
    t.strictSame(
      status?.conditions.filter(({ type }) => ['RuntimeReady', 'NetworkReady'].includes(type)).map(({ type, status: holds }) => [type, holds]),
      [
        ['RuntimeReady', true],
        ['NetworkReady', true],
      ],
    );
    t.ok(runtimeHandlers.some(({ name }) => name === ''), 'the default handler stands under ""');
    t.ok(runtimeHandlers.some(({ name }) => name === 'runc'), 'and under its name');
  });

  await image.pullImage({ image: { image: BUSYBOX } }, CALL);
  const pod = await TestPod.run(node, { annotations: { note: 'kept' } });

  await t.test('the sandbox', async (t) => {
    const { status } = await runtime.podSandboxStatus({ podSandboxId: pod.id }, CALL);
    t.match(pod.id, /^[0-9a-f]{64}$/);
    t.equal(status?.state, PodSandboxState.SANDBOX_READY);
    t.ok(status?.network?.ip.startsWith(node.network.subnet.replace('0/24', '')), status?.network?.ip ?? 'no address');
    t.strictSame({ ...status?.metadata }, { ...status?.metadata, ...pod.config.metadata });
    t.match(status?.labels, pod.config.labels ?? {});
    t.match(status?.annotations, { note: 'kept' });
    t.ok((status?.createdAt ?? 0n) > BigInt(Date.now() - 60_000) * 1_000_000n, 'created just now, in nanoseconds');
  });

  const container = await pod.create({ metadata: { name: 'main', attempt: 3 }, command: ['sh', '-c', 'trap "" TERM; echo out; echo err >&2; while :; do sleep 1; done'] });

  await t.test('the container: created, running', async (t) => {
    t.equal((await container.status()).state, ContainerState.CONTAINER_CREATED);
    await runtime.startContainer({ containerId: container.id }, CALL);
    const status = await container.status();
    t.equal(status.state, ContainerState.CONTAINER_RUNNING);
    t.equal(status.metadata?.name, 'main');
    t.equal(status.metadata?.attempt, 3);
    t.equal(status.image?.image, BUSYBOX);
    t.match(status.imageRef, /^registry\.k8s\.io\/e2e-test-images\/busybox@sha256:[0-9a-f]{64}$/);
    t.equal(status.logPath, container.logFile);
    t.ok(status.startedAt >= status.createdAt);
    t.equal(status.finishedAt, 0n);
  });

  await t.test('lists and their filters', async (t) => {
    const other = await TestPod.run(node, { labels: { app: 'other' } });
    const pods = async (filter: object) => (await runtime.listPodSandbox({ filter }, CALL)).items.map(({ id }) => id).sort();
    t.strictSame(await pods({}), [pod.id, other.id].sort());
    t.strictSame(await pods({ id: pod.id.slice(0, 16) }), [pod.id], 'a prefix of the id');
    t.strictSame(await pods({ labelSelector: { app: 'other' } }), [other.id]);
    t.strictSame(await pods({ state: { state: PodSandboxState.SANDBOX_NOTREADY } }), []);
    t.strictSame(await pods({ id: 'ffffffff' }), []);
    const containers = async (filter: object) => (await runtime.listContainers({ filter }, CALL)).containers.map(({ id }) => id);
    t.strictSame(await containers({}), [container.id]);
    t.strictSame(await containers({ podSandboxId: pod.id }), [container.id]);
    t.strictSame(await containers({ podSandboxId: other.id }), []);
    t.strictSame(await containers({ state: { state: ContainerState.CONTAINER_EXITED } }), []);
    t.strictSame(await containers({ labelSelector: { 'io.kubernetes.container.name': 'main' } }), [container.id]);
    await other.remove();
    t.strictSame(await pods({}), [pod.id]);
  });

  await t.test('exec', async (t) => {
    t.strictSame(await container.exec(['sh', '-c', 'echo a; echo b >&2; exit 3']), { exitCode: 3, stdout: 'a\n', stderr: 'b\n' });
    t.equal((await container.exec(['hostname'])).stdout.trim(), pod.config.hostname);
    t.match((await container.exec(['cat', '/etc/hosts'])).stdout, /127\.0\.0\.1\s+localhost/);
  });

  await t.test('logs', async (t) => {
    const log = await container.log();
    t.strictSame(log.map(({ stream, tag, text }) => [stream, tag, text]).sort(), [
      ['stderr', 'F', 'err'],
      ['stdout', 'F', 'out'],
    ]);
  });

  await t.test('stop and remove', async (t) => {
    await container.stop(1n);
    const status = await container.exit();
    t.equal(status.exitCode, 137, 'it ignores SIGTERM, SIGKILL follows');
    t.equal(status.reason, 'Error');
    t.ok(status.finishedAt >= status.startedAt);
    await pod.stop();
    const { status: stopped } = await runtime.podSandboxStatus({ podSandboxId: pod.id }, CALL);
    t.equal(stopped?.state, PodSandboxState.SANDBOX_NOTREADY);
    if (runtimeUnderTest === 'criquet') {
      await t.rejects(pod.create({ metadata: { name: 'late' } }), { message: /not ready|NOTREADY/i }, 'a stopped sandbox takes no container');
    }
    await pod.stop();
    await pod.remove();
    await pod.remove();
    t.strictSame((await runtime.listPodSandbox({}, CALL)).items, []);
    t.strictSame((await runtime.listContainers({}, CALL)).containers, []);
    await t.rejects(runtime.podSandboxStatus({ podSandboxId: pod.id }, CALL), { code: 5 });
  });
});
