import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { attaching } from '@criquet/network-cni/testing';
import { FakeContainerd, type FakeProcess } from '@criquet/runtime-containerd/testing';
import { test } from 'tap';
import { about, eventually, NAMESPACE, type Shim } from './shim-harness.js';
import { audit, exists, newId, orphans, Planter, started } from './audit-fixture.js';
import { takeCleaningLock } from '../../src/audit/cleaning-lock.js';
import { auditNode } from '../../src/audit/index.js';
import { ownedByDaemon } from '../../src/state/owner-labels.js';

function gone(path: string): Promise<void> {
  return eventually(async () => {
    if (await exists(path)) throw new Error(`${path} is still there`);
  }, 10_000);
}

const logged = (shim: Shim, msg: string) => shim.logLines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((entry) => entry['msg'] === msg);

test('at its start the daemon removes what has no owner, says so, and does not wait for it', async (t) => {
  const { shim, planter } = await started(t);
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  await shim.stopServing();
  const id = newId();
  const volumes = join(planter.layout.declaredVolumes(id), '0');
  await mkdir(volumes, { recursive: true });
  await planter.client().leases.create({ id: 'criquet-pull-lost', labels: ownedByDaemon('00000000') });
  // One that cannot be told: the start goes on, and the next thing is removed all the same.
  shim.containerd.control.delay('tasks.list', 3_000);
  shim.containerd.control.fail('introspection.plugins', { details: 'no plugins now', when: ({ request }) => (request as { filters: string[] }).filters.length > 0 });
  const began = Date.now();
  await shim.restart();
  t.ok(Date.now() - began < 2_500, 'it serves before everything was looked at');
  await gone(volumes);
  await eventually(() => {
    if (shim.containerd.state(NAMESPACE).leases.size > 0) throw new Error('a lease is left');
  }, 10_000);
  await eventually(() => {
    if (logged(shim, 'cannot be looked at; see criquet audit').length === 0) throw new Error('not logged yet');
  });
  t.match(logged(shim, 'removed what had no owner'), [{ kind: 'lease', name: 'criquet-pull-lost' }, { kind: 'declared-volumes', owner: id }]);
  t.match(logged(shim, 'cannot be looked at; see criquet audit'), [{ kind: 'snapshot', err: /no plugins now/ }]);
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1);
});

test('a command whose daemon was killed is ended by the next one, with its FIFOs', async (t) => {
  const { shim, planter } = await started(t);
  let command: FakeProcess | undefined;
  shim.run((process) => {
    if (process.execId !== '') command = process;
  });
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  const release = await shim.failpoints.holdUntilReached('ExecSync/wait for the exec process', () => {
    shim.cri.runtime.execSync({ containerId, cmd: ['sleep'], timeout: 0n }).catch(() => undefined);
  });
  const execId = command?.execId ?? '';
  t.match(execId, /^[0-9a-f]{32}$/);
  await shim.killAndRestart();
  await gone(planter.layout.execIo(containerId, execId));
  t.throws(() => shim.containerd.process(NAMESPACE, containerId, execId), { message: /not found/i });
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1, 'the container goes on');
  t.same(await shim.ioFiles(containerId), ['stderr', 'stdout']);
  release();
});

test('a command that runs is no leftover of the daemon that runs it', async (t) => {
  const { shim, planter } = await started(t);
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  let answer: Promise<{ exitCode: number }> | undefined;
  const release = await shim.failpoints.holdUntilReached('ExecSync/wait for the exec process', () => {
    answer = shim.cri.runtime.execSync({ containerId, cmd: ['true'], timeout: 0n });
  });
  t.same(orphans(await audit(shim, true)), []);
  t.equal((await readdir(planter.layout.containerIo(containerId))).length, 3);
  release();
  t.match(await answer, { exitCode: 0 });
  await eventually(async () => {
    if ((await shim.ioFiles(containerId)).length !== 2) throw new Error('its directory is still there');
  });
});

test('a command that a hung shim does not let go of is deleted when the shim answers again', async (t) => {
  const { shim, planter } = await started(t);
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  const release = shim.containerd.control.hang('tasks.deleteProcess');
  t.match(await shim.cri.runtime.execSync({ containerId, cmd: ['true'], timeout: 0n }), { exitCode: 0 });
  const [execId = ''] = (await readdir(planter.layout.containerIo(containerId))).filter((name) => name.length === 32);
  await eventually(async () => {
    const left = await readdir(planter.layout.execIo(containerId, execId));
    if (left.length > 0) throw new Error(`its FIFOs are gone, its name is not: ${left.join(', ')}`);
  });
  await shim.killAndRestart();
  release();
  await gone(planter.layout.execIo(containerId, execId));
  t.throws(() => shim.containerd.process(NAMESPACE, containerId, execId), { message: /not found/i });
});

test('the lease of a pull whose daemon was killed goes at the next start, one under way stays', async (t) => {
  const { shim } = await started(t);
  const release = shim.containerd.control.hang('transfer.transfer');
  shim.containerd.registry.set('registry.test/other:1', { image: shim.image });
  const leases = () => [...shim.containerd.state(NAMESPACE).leases.keys()];
  const pulling = async (count: number) => eventually(() => {
    if (shim.containerd.control.requests('transfer.transfer').length < count) throw new Error('no pull yet');
  });
  shim.cri.image.pullImage({ image: { image: 'registry.test/other:1' } }).catch(() => undefined);
  await pulling(1);
  const [killed = ''] = leases();
  t.match(killed, /^criquet-pull-/);
  await shim.killAndRestart();
  const second = shim.cri.image.pullImage({ image: { image: 'registry.test/other:1' } });
  second.catch(() => undefined);
  await eventually(() => {
    if (leases().includes(killed)) throw new Error('still there');
  }, 10_000);
  await eventually(() => {
    if (leases().length === 0) throw new Error('none under way');
  });
  t.same(orphans(await audit(shim, true)), []);
  t.equal(leases().length, 1, 'of the pull under way');
  release();
  t.ok((await second).imageRef);
  t.same(leases(), []);
});

test('a removal that fails at the start is tried again', async (t) => {
  const { shim } = await started(t);
  const pod = await shim.runPod();
  await shim.failpoints.holdUntilReached('CreateContainer/prepare the snapshot', () => {
    shim.createContainer(pod).catch(() => undefined);
  });
  shim.containerd.control.fail('containers.delete', { times: 1, details: 'not now' });
  await shim.killAndRestart();
  await eventually(async () => {
    if ((await shim.cri.runtime.listContainers({})).containers.length > 0) throw new Error('still there');
  }, 10_000);
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('N7 CNI GC at start and at intervals, with what is in use, never beside an ADD or DEL; what fails is tried again', async (t) => {
  const attach = attaching('10.1.0.7/24');
  let beside = 0;
  let underWay = 0;
  let refuse = true;
  const { shim, planter } = await started(t, {
    change: (config) => ({ ...config, cni: { ...config.cni, gcInterval: 100 } }),
    plugins: {
      net: async (call) => {
        if (call.command === 'GC' && underWay > 0) beside += 1;
        if (call.command !== 'ADD' && call.command !== 'DEL') {
          if (call.command === 'GC' && refuse) throw new Error('no GC today');
          return attach(call);
        }
        underWay += 1;
        await new Promise((resolve) => setTimeout(resolve, 30));
        underWay -= 1;
        return attach(call);
      },
    },
  });
  await writeFile(join(shim.config.cni.confDir, '10-test.conflist'), JSON.stringify({ cniVersion: '1.1.0', name: 'test', plugins: [{ type: 'net', ipam: { type: 'host-local', dataDir: join(shim.dir, 'ipam') } }] }));
  const calls = () => shim.plugins.calls.filter(({ command }) => command === 'GC');
  await eventually(() => {
    if (calls().length < 2) throw new Error('no second GC after one that failed');
  });
  t.ok(logged(shim, 'CNI GC failed, to be tried again').length > 0);
  refuse = false;
  const pod = await shim.runPod();
  const foreign = await planter.foreignContainer('other', pod);
  await planter.reservation(foreign);
  const lost = newId();
  await planter.reservation(lost);
  const count = calls().length;
  await eventually(() => {
    if (calls().length < count + 2) throw new Error('no GC with the pod');
  });
  const valid = (calls().at(-1)?.config['cni.dev/valid-attachments'] ?? []) as { containerID: string; ifname: string }[];
  t.same([...valid].sort((a, b) => (a.containerID < b.containerID ? -1 : 1)), [pod, foreign].sort().map((containerID) => ({ containerID, ifname: 'eth0' })), 'the pod, and what somebody else has');
  for (let round = 0; round < 5; round += 1) {
    const config = { metadata: { name: `p${round}`, namespace: 'ns', uid: `p${round}`, attempt: 0 } };
    const { podSandboxId } = await shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig(config) });
    await shim.cri.runtime.removePodSandbox({ podSandboxId });
  }
  t.equal(beside, 0);
  const before = calls().length;
  await shim.restart();
  await eventually(() => {
    if (calls().length === before) throw new Error('no GC at start');
  });
});

test('no CNI GC where it is turned off', async (t) => {
  const { shim } = await started(t, { change: (config) => ({ ...config, cni: { ...config.cni, gcInterval: 0 } }) });
  await writeFile(join(shim.config.cni.confDir, '10-test.conflist'), JSON.stringify({ cniVersion: '1.1.0', name: 'test', plugins: [{ type: 'net' }] }));
  await shim.restart();
  const volumes = join(new Planter(shim).layout.declaredVolumes(newId()), '0');
  await shim.stopServing();
  await mkdir(volumes, { recursive: true });
  await shim.serve();
  await gone(volumes);
  t.notOk(shim.plugins.calls.some(({ command }) => command === 'GC'));
});

for (const restart of [false, true]) {
  test(`a start whose undo fails is taken back ${restart ? 'by the next daemon' : 'when it can be'}`, async (t) => {
    const { shim } = await started(t);
    const pod = await shim.runPod();
    const containerId = await shim.createContainer(pod);
    shim.containerd.control.fail('tasks.start', { code: 2, details: 'no such program', when: about(containerId) });
    const allow = shim.containerd.control.fail('tasks.delete', { code: 2, details: 'not today' });
    await t.rejects(shim.cri.runtime.startContainer({ containerId }), { code: 2, details: /no such program/ });
    t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 2, reason: 'StartError' });
    t.ok(shim.containerd.state(NAMESPACE).tasks.has(containerId), 'its task is still there');
    if (restart) await shim.killAndRestart();
    allow();
    await eventually(() => {
      if (shim.containerd.state(NAMESPACE).tasks.has(containerId)) throw new Error('still there');
    });
    t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 2, reason: 'StartError' });
    await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
    t.same(await shim.leftovers(), []);
  });
}

test('where somebody else cleans at the start, the daemon does it afterwards', async (t) => {
  const { shim, planter } = await started(t);
  await shim.stopServing();
  const volumes = join(planter.layout.declaredVolumes(newId()), '0');
  await mkdir(volumes, { recursive: true });
  const lock = await takeCleaningLock(shim.config.stateDir);
  await shim.restart();
  await new Promise((resolve) => setTimeout(resolve, 500));
  t.ok(await exists(volumes));
  await lock.release();
  await gone(volumes);
  t.same(logged(shim, 'clean up: not done'), []);
});

test('with another containerd than before nothing is removed by itself', async (t) => {
  const { shim, planter } = await started(t);
  const known = join(shim.config.rootDir, 'containerd-uuid');
  await eventually(async () => {
    if (!(await exists(known))) throw new Error('not written yet');
  });
  await shim.stopServing();
  const volumes = join(planter.layout.declaredVolumes(newId()), '0');
  await mkdir(volumes, { recursive: true });
  await writeFile(known, 'of another\n');
  const says = /^root_dir belongs to another containerd/;
  await shim.restart();
  await eventually(() => {
    if (!shim.logLines.some((line) => says.test(String((JSON.parse(line) as { msg?: string }).msg)))) throw new Error('not said yet');
  });
  await shim.restart();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  t.ok(await exists(volumes), 'nor at the start after that');
  t.match(await audit(shim), { anotherContainerd: true });
  await t.rejects(audit(shim, true), { message: /^what is below root_dir .* has its records in another containerd .*: --clean --new-containerd$/ });
  t.ok(await exists(volumes), 'nor by who did not know it');
  t.match(await audit(shim, true, true), { problems: [], anotherContainerd: true });
  t.notOk(await exists(volumes), 'who asks for it gets it');
  t.notMatch(await audit(shim), { anotherContainerd: true });
  await mkdir(volumes, { recursive: true });
  await shim.restart();
  await gone(volumes);
});

test('the audit does not go by another containerd than its daemon', async (t) => {
  const { shim } = await started(t);
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  const other = await FakeContainerd.start();
  t.teardown(() => other.close());
  const config = { ...shim.config, containerd: { ...shim.config.containerd, address: `unix://${other.address}` } };
  for (const newContainerd of [false, true]) {
    const looked = auditNode({ config, clean: true, newContainerd, signal: AbortSignal.timeout(10_000), replacements: { nodeRoots: { proc: '/proc', sys: join(shim.dir, 'sys') } } });
    await t.rejects(looked, { message: `the running daemon works with another containerd than the one at unix://${other.address}: look with the daemon's own configuration and flags` });
  }
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 1 });
  t.match((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status, { state: 0 });
});

test('what a containerd that went away has left is removed when it is back', async (t) => {
  const { shim, planter } = await started(t);
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  await eventually(() => {
    if (logged(shim, 'looked for what has no owner').length !== 1) throw new Error('the start is not done');
  });
  await planter.client().leases.create({ id: 'criquet-pull-lost', labels: ownedByDaemon('00000000') });
  shim.containerd.stop();
  await shim.containerd.listen();
  await eventually(() => {
    if (shim.containerd.state(NAMESPACE).leases.size > 0) throw new Error('the lease is left');
  }, 15_000);
  t.match(logged(shim, 'removed what had no owner'), [{ kind: 'lease', name: 'criquet-pull-lost' }]);
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1);
});
