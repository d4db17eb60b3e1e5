import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DeepPartial, PodSandboxConfig } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import t from 'tap';
import { crunProgram } from '../harness/crun.js';
import { readEnvironment } from '../harness/environment.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';
import type { TestNode } from '../harness/node.js';

const directory = await mkdtemp(join(tmpdir(), 'criquet-e2e-handlers-'));
t.teardown(() => rm(directory, { recursive: true, force: true }));
const crunRoot = join(directory, 'crun-root');
const baseSpec = join(directory, 'base.json');
await writeFile(
  baseSpec,
  JSON.stringify({
    ociVersion: '1.0.2',
    process: { cwd: '/', rlimits: [{ type: 'RLIMIT_NOFILE', soft: 321, hard: 654 }] },
    mounts: [
      { destination: '/run', type: 'tmpfs', source: 'tmpfs' },
      { destination: '/from-base', type: 'tmpfs', source: 'tmpfs', options: ['ro'] },
    ],
  }),
);

const extraConfig = `
[runtime.handlers.runc]

[runtime.handlers.crun]
binary_name = ${JSON.stringify(await crunProgram(readEnvironment(), directory))}
root = ${JSON.stringify(crunRoot)}
snapshotter = "native"

[runtime.handlers.based]
base_runtime_spec = ${JSON.stringify(baseSpec)}
privileged_without_host_devices = true
pod_annotations = ["io.example/*"]

[runtime.handlers.absent]
binary_name = "/nowhere/runc"
`;

async function runPod(node: TestNode, runtimeHandler: string, overrides: DeepPartial<PodSandboxConfig> = {}): Promise<TestPod> {
  return TestPod.run(node, overrides, runtimeHandler);
}

/** The type of the file system on a container's root. */
const ROOT_TYPE = ['sh', '-c', "awk '$5 == \"/\" { sub(/.* - /, \"\"); print $1 }' /proc/self/mountinfo"];

await onEachEngine(
  'runtime handlers',
  async (t, node) => {
    const { runtime, image } = node.cri;

    await t.test('X8 handlers: features are those that runc and crun tell', async (t) => {
      const { runtimeHandlers } = await runtime.status({}, CALL);
      const told = new Map(runtimeHandlers.map(({ name, features }) => [name, features]));
      t.same([...told.keys()].sort(), ['', 'absent', 'based', 'crun', 'runc']);
      t.same(told.get(''), told.get('runc'));
      t.same(told.get('based'), told.get('runc'));
      t.match(told.get('runc'), { recursiveReadOnlyMounts: true, userNamespaces: true }, 'runc 1.2 and later on Linux 5.12 and later');
      t.match(told.get('absent'), { recursiveReadOnlyMounts: false, userNamespaces: false });
    });

    await t.test('X8 handlers: "nope" is refused, and one whose binary is missing fails; nothing is left', async (t) => {
      const before = await node.state();
      const run = (runtimeHandler: string) => runtime.runPodSandbox({ config: TestPod.config(node), runtimeHandler }, CALL);
      await t.rejects(run('nope'), { code: code.INVALID_ARGUMENT, details: /runtime_handler.*"nope"/ });
      await t.rejects(run('absent'), { message: /nowhere/ });
      t.same(await node.leaksSince(before), []);
      t.same((await runtime.listPodSandbox({}, CALL)).items, []);
    });

    await t.test('pods of two runtimes side by side, each in its snapshotter', async (t) => {
      const pods = await Promise.all([runPod(node, 'runc'), runPod(node, 'crun')]);
      const [byRunc, byCrun] = await Promise.all(pods.map((pod) => pod.start()));
      if (byRunc === undefined || byCrun === undefined) throw new Error('not started');
      t.equal((await byRunc.exec(ROOT_TYPE)).stdout.trim(), 'overlay');
      t.not((await byCrun.exec(ROOT_TYPE)).stdout.trim(), 'overlay');
      t.ok((await readdir(crunRoot, { recursive: true })).some((path) => path.includes(byCrun.id)), "crun keeps it in the handler's root");
      t.match((await byCrun.exec(['cat', '/etc/hostname'])).stdout, /^pod-/);
      const handlers = (await runtime.listPodSandbox({}, CALL)).items.map(({ id, runtimeHandler }) => [id, runtimeHandler]);
      t.same(new Map(handlers as [string, string][]), new Map([[pods[0].id, 'runc'], [pods[1].id, 'crun']]));
      const { info } = await runtime.containerStatus({ containerId: byCrun.id, verbose: true }, CALL);
      t.match(JSON.parse(info.info ?? ''), { snapshotter: 'native', snapshotKey: byCrun.id, runtimeOptions: { binary_name: /crun$/, root: crunRoot } });
      await byCrun.exec(['sh', '-c', 'head -c 300000 /dev/zero > /file']);
      const { stats } = await runtime.containerStats({ containerId: byCrun.id }, CALL);
      t.match(stats?.writableLayer?.fsId?.mountpoint, /snapshotter\.v1\.native$/);
      const { imageFilesystems } = await image.imageFsInfo({}, CALL);
      t.match(imageFilesystems.map(({ fsId }) => fsId?.mountpoint), [/overlayfs$/, /native$/]);
      for (const pod of pods) await pod.remove();
    });

    await t.test("an image pulled for a handler whose snapshotter containerd's unpack_config lacks, and one that lost its snapshot", async (t) => {
      await image.removeImage({ image: { image: BUSYBOX } }, CALL);
      await image.pullImage({ image: { image: BUSYBOX, runtimeHandler: 'crun' } }, CALL);
      const committed = async (snapshotter: string) =>
        (await node.containerd.ctr('--namespace', 'k8s.io', 'snapshots', '--snapshotter', snapshotter, 'list')).split('\n').filter((line) => line.includes('Committed')).length;
      t.ok((await committed('native')) > 0);
      const pod = await runPod(node, 'runc');
      const container = await pod.start();
      t.match(await container.exec(['echo', 'alive']), { stdout: 'alive\n' }, 'unpacked for the other one when a container wanted it');
      t.ok((await committed('overlayfs')) > 0);
      await pod.remove();
    });

    await t.test('base_runtime_spec, pod_annotations, privileged_without_host_devices', async (t) => {
      const privileged = { linux: { securityContext: { privileged: true } } };
      const pod = await runPod(node, 'based', { annotations: { 'io.example/a': '1', other: '2' }, ...privileged });
      const container = await pod.start({ ...privileged });
      t.equal((await container.exec(['sh', '-c', 'ulimit -Sn; ulimit -Hn'])).stdout, '321\n654\n');
      t.match((await container.exec(['grep', ' /from-base ', '/proc/self/mountinfo'])).stdout, / ro,.* - tmpfs /);
      t.equal((await container.exec(['sh', '-c', 'grep -c " /run " /proc/self/mountinfo'])).stdout, '0\n');
      const nodes = (await container.exec(['ls', '/dev'])).stdout.trim().split('\n');
      t.ok(nodes.includes('null'));
      t.notOk(nodes.some((name) => name === 'mem' || name === 'kmsg'), 'no device of the node');
      const { info } = await runtime.containerStatus({ containerId: container.id, verbose: true }, CALL);
      const { annotations } = (JSON.parse(info.info ?? '') as { runtimeSpec: { annotations: Record<string, string> } }).runtimeSpec;
      t.equal(annotations['io.example/a'], '1');
      t.notOk('other' in annotations);
      await pod.remove();
    });

    await t.test('R3 cgroup parent: "/a/b" and "" have their directories, which go with the pod; a slice is refused', async (t) => {
      const parent = `/${node.cgroupParent}/a/b`;
      const hierarchies = await cgroupRoots();
      for (const root of hierarchies) await mkdir(join(root, parent), { recursive: true });
      for (const cgroupParent of [parent, '']) {
        const pod = await runPod(node, 'runc', { linux: { cgroupParent } });
        const container = await pod.start();
        const expected = cgroupParent === '' ? `/k8s.io/${container.id}` : `${parent}/${container.id}`;
        const pid = await pidOf(node, container.id);
        t.ok((await readFile(`/proc/${pid}/cgroup`, 'utf8')).split('\n').some((line) => line.endsWith(`:${expected}`)), cgroupParent);
        await pod.remove();
        for (const root of hierarchies) t.notOk((await readdir(join(root, expected, '..')).catch(() => [] as string[])).includes(container.id));
      }
      // The kubelet removes what it made; nothing may be in its way.
      for (const root of hierarchies) for (const path of [parent, join(parent, '..')]) await rmdir(join(root, path));
      for (const slice of ['a-b.slice', '/a.slice/a-b.slice']) {
        await t.rejects(runPod(node, 'runc', { linux: { cgroupParent: slice } }), { code: code.INVALID_ARGUMENT, details: /cgroup_parent.*systemd slice.*cgroupfs/ });
      }
    });
  },
  { only: 'criquet', extraConfig },
);

async function pidOf(node: TestNode, containerId: string): Promise<number> {
  const { info } = await node.cri.runtime.containerStatus({ containerId, verbose: true }, CALL);
  return (JSON.parse(info.info ?? '') as { pid: number }).pid;
}

/** Every mounted cgroup hierarchy. */
async function cgroupRoots(): Promise<string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines.filter((line) => / - cgroup2? /.test(line)).flatMap((line) => line.split(' ')[4] ?? []);
}
