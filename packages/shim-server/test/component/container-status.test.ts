import { join } from 'node:path';
import { ContainerState, PodSandboxState, Signal } from '@criquet/cri-api';
import { test } from 'tap';
import { about, eventually, IMAGE, NAMESPACE, Shim } from './shim-harness.js';

test('ContainerStatus of a container that has failed: everything about it', async (t) => {
  const shim = await Shim.start({ node: { nodeFacts: { swapAccounting: true } } });
  t.teardown(() => shim.close());
  const { runtime } = shim.cri;
  shim.run((process) => process.exit(3));
  const before = BigInt(Date.now()) * 1_000_000n;
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod, {
    metadata: { name: 'app', attempt: 2 },
    labels: { a: 'b' },
    annotations: { c: 'd' },
    stopSignal: Signal.SIGUSR1,
    mounts: [{ hostPath: join(shim.dir, 'data'), containerPath: '/data', readonly: true }],
    linux: { resources: { cpuShares: 512n, memoryLimitInBytes: 64_000_000n }, securityContext: { runAsUsername: 'app' } },
  });
  const ended = await eventually(async () => {
    const { status } = await runtime.containerStatus({ containerId });
    if (status?.state !== 2) throw new Error('not exited');
    return status;
  });
  t.match(ended, {
    id: containerId,
    metadata: { name: 'app', attempt: 2 },
    exitCode: 3,
    reason: 'Error',
    image: { image: 'registry.test/app:1' },
    imageId: shim.image.id,
    labels: { a: 'b' },
    annotations: { c: 'd' },
    mounts: [{ hostPath: join(shim.dir, 'data'), containerPath: '/data', readonly: true }],
    logPath: join(shim.dir, 'logs/app/0.log'),
    resources: { linux: { cpuShares: 512n, memoryLimitInBytes: 64_000_000n }, windows: undefined },
    user: { linux: { uid: 1000n, gid: 1000n, supplementalGroups: [1000n, 2000n] } },
    stopSignal: Signal.SIGUSR1,
  });
  t.match(ended.imageRef, /@sha256:/);
  t.ok(before <= ended.createdAt && ended.createdAt <= ended.startedAt && ended.startedAt <= ended.finishedAt, 'nanoseconds, in order');
});

test('ContainerStatus of a container that could not be started: the reason and the message', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.createContainer(await shim.runPod());
  shim.containerd.control.fail('tasks.start', { details: 'exec: "/app": not found', when: about(containerId) });
  await t.rejects(shim.cri.runtime.startContainer({ containerId }));
  const { status } = await shim.cri.runtime.containerStatus({ containerId });
  t.match(status, { state: 2, reason: 'StartError', message: /exec: "\/app": not found/ });
  t.not(status?.exitCode, 0);
});

test('what was sent once does not outlast a change: of a container, of a list, of an image\'s name', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime } = shim.cri;
  shim.run(() => undefined);
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  const status = async () => (await runtime.containerStatus({ containerId })).status;
  const listed = async (filter: object | undefined) => (await runtime.listContainers(filter === undefined ? {} : { filter })).containers.map(({ state }) => state);
  const pods = async () => (await runtime.listPodSandbox({ filter: {} })).items.map(({ state }) => state);
  t.match(await status(), { state: ContainerState.CONTAINER_RUNNING, image: { image: IMAGE } });
  t.same(await listed(undefined), [ContainerState.CONTAINER_RUNNING]);
  t.same(await pods(), [PodSandboxState.SANDBOX_READY]);
  const other = 'aaa.test/app:1';
  shim.containerd.addImage(NAMESPACE, other, shim.image);
  await eventually(async () => {
    if ((await status())?.image?.image !== other) throw new Error('not seen');
  });
  await runtime.stopPodSandbox({ podSandboxId: pod });
  t.match(await status(), { state: ContainerState.CONTAINER_EXITED, image: { image: other } });
  t.same(await listed(undefined), [ContainerState.CONTAINER_EXITED]);
  t.same(await listed({}), [ContainerState.CONTAINER_EXITED]);
  t.same(await pods(), [PodSandboxState.SANDBOX_NOTREADY]);
  await runtime.removeContainer({ containerId });
  t.same(await listed({}), []);
});
