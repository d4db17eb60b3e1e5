import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ContainerState, NamespaceMode, type ContainerConfig, type DeepPartial } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import t from 'tap';
import { findTool, readEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { onEachEngine, type Test } from '../harness/on-each-engine.js';
import { CALL, TestContainer, TestPod } from '../harness/pods.js';
import { run } from '../harness/run.js';

/** Counts on its output and in a file of its root file system, in shared memory, and has deleted a file of its image. */
const COUNT = 'rm /etc/group; i=0; while :; do i=$((i+1)); echo $i; echo $i >/root/count; echo $i >/dev/shm/count-$NAME; sleep 0.1; done';

const counterConfig = (name: string): DeepPartial<ContainerConfig> => ({
  metadata: { name, attempt: 0 },
  command: ['sh', '-c', COUNT],
  envs: [{ key: 'NAME', value: Buffer.from(name) }],
});

/** Creates a container of an archive, which is no image that could be pulled. */
async function createOf(pod: TestPod, archive: string, name: string, overrides: DeepPartial<ContainerConfig> = {}): Promise<TestContainer> {
  const config = { metadata: { name, attempt: 0 }, image: { image: archive }, logPath: `${name}.log`, ...overrides };
  const request = { podSandboxId: pod.id, config, sandboxConfig: pod.config };
  return new TestContainer(pod, (await pod.node.cri.runtime.createContainer(request, CALL)).containerId, config);
}

const numbers = async (container: TestContainer): Promise<number[]> => (await container.log()).map(({ text }) => Number(text));

/** Waits for so many more numbers; returns the last. */
async function counting(container: TestContainer, more = 3): Promise<number> {
  const before = await numbers(container).catch(() => []);
  return eventually(async () => {
    const now = await numbers(container);
    if (now.length < before.length + more) throw new Error(`stands at ${now.at(-1)}`);
    return now.at(-1) ?? 0;
  });
}

async function expectUnbroken(t: Test, container: TestContainer): Promise<void> {
  const all = await numbers(container);
  const broken = all.findIndex((number, index) => index > 0 && number !== (all[index - 1] ?? 0) + 1);
  t.equal(broken, -1, `counts on without a gap: ${all.slice(Math.max(0, broken - 2), broken + 3).join(' ')}`);
}

const environment = readEnvironment();
if (environment.criuDirectory === undefined) {
  await t.test('checkpoints', { skip: 'no CRIU that works with this kernel is to be had here' }, () => undefined);
} else {
  await onEachEngine(
    'checkpoints',
    async (t, node) => {
      const { runtime } = node.cri;
      const directory = join(node.directory, 'checkpoints');
      await mkdir(directory);
      const checkpoint = (container: TestContainer, location: string, timeout = 0n) =>
        runtime.checkpointContainer({ containerId: container.id, location, timeout }, CALL);

      await t.test('Status says that checkpoints work', async (t) => {
        const info = await eventually(async () => {
          const { status, info: told } = await runtime.status({ verbose: true }, CALL);
          const condition = status?.conditions.find(({ type }) => type === 'CheckpointReady');
          if (condition?.status !== true) throw new Error(`${condition?.reason}: ${condition?.message}`);
          return told;
        });
        t.match(JSON.parse(info.checkpoint ?? '{}'), { criu: { usable: true, version: /^\d/ }, runtimeHandlers: ['runc'] });
      });

      await t.test('R7 checkpoint: a restorable archive, and the counter goes on in both containers', async (t) => {
        const location = join(directory, 'counter.tar');
        const pod = await TestPod.run(node);
        const counter = await pod.start(counterConfig('counter'));
        await counting(counter);
        await checkpoint(counter, location);
        t.equal((await stat(location)).mode & 0o7777, 0o600);
        t.same(await readdir(directory), ['counter.tar'], 'nothing beside it');
        const entries = (await run('tar', ['-tf', location])).split('\n');
        for (const entry of ['config.dump', 'spec.dump', 'status.dump', 'rootfs-diff.tar', 'container.log', 'dump.log', 'stats-dump', 'checkpoint/inventory.img']) {
          t.ok(entries.includes(entry), entry);
        }
        // Other engines list what was deleted beside the layer.
        await writeFile(join(node.directory, 'deleted.files'), '["/etc/passwd"]');
        await run('tar', ['-rf', location, '-C', node.directory, 'deleted.files']);
        const later = await counting(counter, 10);
        await expectUnbroken(t, counter);
        await pod.remove();

        const other = await TestPod.run(node);
        const restored = await createOf(other, location, 'restored');
        await rm(location);
        t.match(await restored.status(), { state: ContainerState.CONTAINER_CREATED });
        await runtime.startContainer({ containerId: restored.id }, CALL);
        await counting(restored, 5);
        const [, ...log] = await numbers(restored);
        t.ok((log.at(-1) ?? 0) > 5 && log.length < later + 60, 'it began where the checkpoint was made');
        await expectUnbroken(t, restored);
        t.match(await restored.exec(['sh', '-c', 'test -e /etc/group -o -e /etc/passwd || echo deleted']), { stdout: 'deleted\n' });
        // It is empty for the moment between opening and writing.
        t.match(await restored.exec(['sh', '-c', 'until grep . /root/count; do :; done']), { stdout: /^\d+\n$/ });
        t.match(await restored.exec(['sh', '-c', 'ip -4 addr show eth0 || cat /proc/net/fib_trie']), { stdout: new RegExp((await other.ip()).replaceAll('.', '\\.')) }, 'on the network of its new pod');
        t.same(await node.filesBelow('criquet-root', 'checkpoints'), [], 'the images are gone once it runs');
        t.match(await restored.status(), { state: ContainerState.CONTAINER_RUNNING });
        await restored.stop();
        t.match(await restored.status(), { state: ContainerState.CONTAINER_EXITED, exitCode: 137 });
        await other.remove();
      });

      await t.test('what cannot be restored is refused and leaves nothing', async (t) => {
        const location = join(directory, 'mounts.tar');
        const pod = await TestPod.run(node);
        const counter = await pod.start(counterConfig('counter'));
        await checkpoint(counter, location);
        const mounts = [{ hostPath: directory, containerPath: '/data' }];
        await t.rejects(createOf(pod, location, 'other', { command: ['other'] }), { code: code.FAILED_PRECONDITION, details: /config\.command and args/ });
        await t.rejects(createOf(pod, location, 'other', { mounts }), { code: code.FAILED_PRECONDITION, details: /config\.mounts: the checkpoint knows no mounts at \/data/ });
        await writeFile(location, 'no archive');
        await t.rejects(createOf(pod, location, 'other'), { code: code.FAILED_PRECONDITION });
        await rm(location);
        await pod.remove();
        t.same(await node.filesBelow('criquet-root', 'checkpoints'), []);
      });

      await t.test('damaged memory images: the start fails, the container has exited with StartError, and everything goes', async (t) => {
        const location = join(directory, 'damaged.tar');
        const unpacked = join(node.directory, 'unpacked');
        // With a PID namespace of its own CRIU does not notice that its process has died, and waits.
        const linux = { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } };
        const pod = await TestPod.run(node, { linux });
        const counter = await pod.start({ ...counterConfig('counter'), linux });
        await checkpoint(counter, location);
        await mkdir(unpacked);
        await run('tar', ['-xf', location, '-C', unpacked]);
        for (const name of await readdir(join(unpacked, 'checkpoint'))) {
          if (name.startsWith('pages-')) await truncate(join(unpacked, 'checkpoint', name), 4096);
        }
        await run('tar', ['-cf', location, '-C', unpacked, '.']);
        const damaged = await createOf(pod, location, 'damaged', { linux });
        const failure: unknown = await runtime.startContainer({ containerId: damaged.id }, CALL).catch((error: unknown) => error);
        t.match(failure, { details: /start the task/ }, 'CRIU waits for ever or says what is wrong');
        t.match(await damaged.status(), { state: ContainerState.CONTAINER_EXITED, reason: 'StartError' });
        await counting(counter);
        await damaged.remove();
        t.notMatch(await readFile('/proc/self/mountinfo', 'utf8'), damaged.id, 'nothing is mounted');
        t.same(await node.filesBelow('criquet-root', 'checkpoints'), []);
        await pod.remove();
        await rm(location);
        await rm(unpacked, { recursive: true });
      });

      await t.test('L7 a shim that hangs for ever: with patience its pod can be removed', async () => {
        const pod = await TestPod.run(node);
        await pod.start(counterConfig('counter'));
        const shim = (await node.state()).processes.find((line) => line.includes('containerd-shim') && line.includes(pod.id));
        process.kill(Number.parseInt(shim ?? '', 10), 'SIGSTOP');
        await runtime.stopPodSandbox({ podSandboxId: pod.id }, CALL);
        await runtime.removePodSandbox({ podSandboxId: pod.id }, CALL);
      });

      await t.test("the caller's deadline in the middle of a dump leaves no archive and no paused container", async (t) => {
        const pod = await TestPod.run(node);
        const counter = await pod.start(counterConfig('counter'));
        await counting(counter);
        // CRIU alone takes a quarter of a second for the smallest container.
        const request = { containerId: counter.id, location: join(directory, 'late.tar'), timeout: 0n };
        await t.rejects(runtime.checkpointContainer(request, { timeoutMs: 150 }), { code: code.DEADLINE_EXCEEDED });
        await counting(counter);
        await eventually(async () => {
          const left = [...(await readdir(directory)), ...(await node.filesBelow('criquet-root', 'checkpoints', counter.id))];
          if (left.length > 0) throw new Error(left.join(', '));
        });
        await expectUnbroken(t, counter);
        await pod.remove();
      });

      await t.test('CheckpointPod and RestorePod: two counters', async (t) => {
        const outputPath = join(directory, 'pod');
        await mkdir(outputPath);
        const pod = await TestPod.run(node);
        const containers = [await pod.start(counterConfig('one')), await pod.start(counterConfig('two'))];
        for (const container of containers) await counting(container);
        await runtime.checkpointPod({ podSandboxId: pod.id, outputPath, containerIds: containers.map(({ id }) => id), options: {} }, CALL);
        t.same((await readdir(outputPath)).sort(), ['one.tar', 'pod.dump', 'pod.options', 'two.tar']);
        for (const container of containers) {
          await counting(container);
          await expectUnbroken(t, container);
        }
        await pod.remove();

        const request = { checkpointPath: outputPath, config: { ...pod.config, metadata: { ...pod.config.metadata, uid: 'restored' }, logDirectory: join(node.directory, 'logs', 'restored') }, runtimeHandler: '', options: {}, containerConfigs: containers.map(({ config }) => config) };
        await t.rejects(runtime.restorePod({ ...request, containerConfigs: [{ ...request.containerConfigs[0], args: ['other'] }, request.containerConfigs[1] ?? {}] }, CALL), {
          code: code.FAILED_PRECONDITION,
          details: /container_configs\[0\]\.command and args/,
        });
        t.same((await runtime.listPodSandbox({}, CALL)).items, [], 'an error leaves no pod');
        const { podSandboxId, restoredContainers } = await runtime.restorePod(request, CALL);
        t.same(restoredContainers.map(({ name }) => name), ['one', 'two']);
        const again = await runtime.restorePod(request, CALL);
        t.match(again, { podSandboxId, restoredContainers }, 'repeated, it finds the same pod');
        for (const { containerId } of restoredContainers) {
          t.match((await runtime.containerStatus({ containerId }, CALL)).status, { state: ContainerState.CONTAINER_CREATED });
          await runtime.startContainer({ containerId }, CALL);
        }
        for (const { name, containerId } of restoredContainers) {
          const restored = new TestContainer(Object.assign(Object.create(TestPod.prototype) as TestPod, { node, id: podSandboxId, config: request.config }), containerId, { logPath: `${name}.log` });
          await counting(restored);
          await expectUnbroken(t, restored);
          t.ok(Number((await restored.exec(['cat', `/dev/shm/count-${name}`])).stdout) > 0, 'shared memory came along');
        }
        await node.removePods();
        await rm(outputPath, { recursive: true });
      });

      await t.test('the daemon is killed during a checkpoint: the container goes on, nothing is left', async (t) => {
        const pod = await TestPod.run(node);
        const counter = await pod.start(counterConfig('counter'));
        await counting(counter);
        for (const wait of [30, 120, 300]) {
          const cut = checkpoint(counter, join(directory, 'cut.tar')).catch(() => undefined);
          await pause(wait);
          await node.criquet?.stop('SIGKILL');
          await cut;
          await node.criquet?.start();
          await eventually(() => node.expectReady(), 20_000);
          await counting(counter);
          await rm(join(directory, 'cut.tar'), { force: true });
          await eventually(async () => {
            const left = [...(await readdir(directory)), ...(await node.filesBelow('criquet-root', 'checkpoints', counter.id))];
            if (left.length > 0) throw new Error(left.join(', '));
          });
        }
        await checkpoint(counter, join(directory, 'whole.tar'));
        t.same(await readdir(directory), ['whole.tar']);
        await rm(join(directory, 'whole.tar'));
        await pod.remove();
      });

      const crictl = await findTool(node.environment, 'crictl');
      await t.test('crictl checkpoint', { skip: crictl === undefined && 'crictl is not there' }, async (t) => {
        const pod = await TestPod.run(node);
        const counter = await pod.start(counterConfig('counter'));
        const file = join(directory, 'crictl.tar');
        await run(crictl ?? '', ['--runtime-endpoint', node.endpoint, '--timeout', '60s', 'checkpoint', `--export=${file}`, counter.id]);
        t.equal((await stat(file)).mode & 0o7777, 0o600);
        await rm(file);
        await counting(counter);
        await pod.remove();
      });
      await rm(directory, { recursive: true });
    },
    { only: 'criquet', engines: 'newest', extraConfig: '[checkpoint]\ntimeout = "15s"\n', environment: { ...environment, tools: [environment.criuDirectory, ...environment.tools] } },
  );
}
