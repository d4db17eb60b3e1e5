import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type Test } from 'tap';
import { NAMESPACE, type Shim } from './shim-harness.js';
import { takeCleaningLock } from '../../src/audit/cleaning-lock.js';
import { HOLDING_KINDS } from '../../src/audit/index.js';
import { ownedBy, ownedByDaemon } from '../../src/state/owner-labels.js';
import { audit, exists, named, newId, orphans, started, written, type Planter } from './audit-fixture.js';

async function prepared(t: Test): Promise<{ shim: Shim; planter: Planter; pod: string; containerId: string }> {
  const { shim, planter } = await started(t);
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  return { shim, planter, pod, containerId };
}

test('on a node at work nothing is without an owner, with and without the daemon', async (t) => {
  const { shim, pod, containerId } = await prepared(t);
  const { url } = await shim.cri.runtime.exec({ containerId, cmd: ['/bin/sh'], stdout: true });
  t.match(url, /^http/);
  const running = await audit(shim);
  t.same(running.problems, []);
  t.same(orphans(running), []);
  t.equal(running.daemonPid, process.pid);
  const held = new Map(running.holdings.map(({ kind, owner }) => [`${kind} ${owner}`, true]));
  for (const kind of ['container', 'cni-attachment', 'ipam-reservation', 'mount', 'pod-files']) t.ok(held.has(`${kind} ${pod}`), `${kind} of the pod`);
  for (const kind of ['task', 'fifos', 'snapshot', 'log-handle', 'stream-token']) t.ok(held.has(`${kind} ${containerId}`), `${kind} of the container`);
  t.ok(held.has(`container ${pod}`));
  await shim.stopServing();
  const stopped = await audit(shim);
  t.same(stopped.problems, []);
  t.same(orphans(stopped), []);
  t.equal(stopped.daemonPid, undefined);
  t.same(named(stopped.holdings, 'owned').filter((line) => /^(?:log-handle|stream-token) /.test(line)), [], 'what only a daemon has');
  await shim.serve();
});

test('a planted orphan of each kind is found and removed, and nothing else is touched', async (t) => {
  const { shim, planter, pod, containerId } = await prepared(t);
  const { layout } = planter;
  const { leases, sandboxes, snapshots, tasks } = planter.client();
  const [id, chainId] = [newId(), shim.image.chainId];

  // Orphans.
  const lostContainer = await planter.containerOfNoSandbox(containerId);
  const lostTask = await planter.taskWithoutRecord(containerId);
  const shimPid = await planter.shimProcess(id);
  await planter.cacheEntry(id, layout.netns(id));
  const reserved = await planter.reservation(newId());
  const unwritten = await planter.unwrittenReservation();
  const mounted = await planter.mounted(layout.shm(id));
  const inCheckpoint = await planter.mounted(join(layout.checkpoint(id), 'restore/criu'));
  const netns = await written(layout.netns(id));
  const userns = await written(layout.userns(id));
  await mkdir(layout.containerIo(id), { recursive: true });
  const execId = `00000000${'ab'.repeat(12)}`;
  const execDirectory = layout.execIo(containerId, execId);
  await mkdir(execDirectory);
  const process = await planter.client().containers.get(containerId);
  t.ok(process.spec);
  shim.run((started) => void started);
  await tasks.exec({ containerId, execId, spec: { typeUrl: 'types.containerd.io/opencontainers/runtime-spec/1/Process', value: Buffer.from('{"args":["sleep"],"cwd":"/"}') }, stdin: '', stdout: '', stderr: '', terminal: false });
  await tasks.start(containerId, execId);
  for (const directory of [join(layout.imageVolumes(id), '0'), join(layout.declaredVolumes(id), '0'), layout.sandboxFiles(id)]) await mkdir(directory, { recursive: true });
  await snapshots.prepare('overlayfs', id, chainId, { labels: ownedBy(id) });
  await snapshots.view('native', `${id}-image-0`, '', { labels: ownedBy(id) });
  const runtime = { name: 'io.containerd.runc.v2' };
  await sandboxes.create({ id, runtime, labels: ownedBy(id) });
  await leases.create({ id: 'criquet-pull-lost', labels: ownedByDaemon('00000000') });
  await leases.create({ id: `criquet-checkpoint-${id}`, labels: ownedBy(id) });
  const emptyCgroup = await planter.cgroup(`k8s.io/${id}`);
  const scope = await planter.cgroup(`system.slice/cri-containerd-${id}.scope`);
  // Its record goes behind the daemon's back: the log stays open, the URL can still be used.
  const handled = await shim.startContainer(pod, { metadata: { name: 'handled', attempt: 0 }, logPath: 'handled.log' });
  await shim.cri.runtime.exec({ containerId: handled, cmd: ['/bin/sh'], stdout: true });
  shim.containerd.state(NAMESPACE).containers.delete(handled);

  // What looks like it and is not criquet's, or has an owner.
  const foreign = await planter.foreignContainer('other', containerId);
  const inSameNamespace = await planter.foreignContainer(NAMESPACE, containerId);
  const kept = [
    await planter.cgroup(`other/${foreign}`),
    await planter.cgroup(`k8s.io/${inSameNamespace}`),
    await planter.cgroup(`kubepods/${newId()}`, 1),
    await planter.cgroup(`k8s.io/${newId()}`),
    await planter.cgroup(`kubepods/pod${id}`),
    await planter.reservation(foreign),
    await planter.reservation(newId(), 'elsewhere'),
    await planter.unwrittenReservation('elsewhere'),
    await planter.cacheEntry(newId(), '/run/netns/of-somebody'),
    await written(join(shim.config.cni.cacheDir, 'results', `test-${newId()}-eth0`), 'damaged, and nobody knows whose'),
    await written(join(layout.netnsDir, 'somebody')),
    await written(join(shim.config.stateDir, 'io/not-an-id')),
    await written(join(shim.config.rootDir, 'volumes/not-an-id/data')),
  ];
  const attached = newId();
  kept.push(await planter.cacheEntry(attached, '/run/netns/of-somebody-else'), await planter.reservation(attached));
  const keptPids = [await planter.shimProcess(newId(), { address: '/run/other/containerd.sock' }), await planter.shimProcess(newId(), { namespace: 'other' }), await planter.shimProcess(foreign)];
  await sandboxes.create({ id: 'of-somebody', runtime });
  await leases.create({ id: 'criquet-pull-of-somebody' });
  await snapshots.prepare('overlayfs', newId(), chainId, { labels: { 'containerd.io/gc.root': 'now' } });
  const others = await planter.taskWithoutRecord(containerId, join(shim.dir, 'of-somebody'));

  const found = await audit(shim);
  t.same(found.problems, []);
  const expected = [
    `container ${lostContainer}`,
    `sandbox ${id}`,
    `task ${lostTask}`,
    `shim ${shimPid}`,
    `cni-attachment test/eth0/${id}`,
    `ipam-reservation ${reserved}`,
    `ipam-reservation ${unwritten}`,
    `mount ${mounted}`,
    `mount ${inCheckpoint}`,
    `netns ${netns}`,
    `userns ${userns}`,
    `fifos ${layout.containerIo(id)}`,
    `fifos ${layout.containerIo(lostTask)}`,
    `fifos ${execDirectory}`,
    `image-volumes ${layout.imageVolumes(id)}`,
    `snapshot overlayfs/${id}`,
    `snapshot native/${id}-image-0`,
    'lease criquet-pull-lost',
    `lease criquet-checkpoint-${id}`,
    `declared-volumes ${layout.declaredVolumes(id)}`,
    `checkpoint ${layout.checkpoint(id)}`,
    `pod-files ${layout.sandboxFiles(id)}`,
    `pod-files ${layout.sandboxState(id)}`,
    `cgroup ${emptyCgroup.replace(join(shim.dir, 'sys/fs/cgroup'), '')}`,
    `cgroup ${scope.replace(join(shim.dir, 'sys/fs/cgroup'), '')}`,
    `task ${handled}`,
    `fifos ${layout.containerIo(handled)}`,
    `snapshot overlayfs/${handled}`,
    `log-handle ${join(shim.dir, 'logs/handled.log')}`,
    'stream-token exec 1',
  ];
  t.same(orphans(found), expected.sort());
  t.same([...new Set(orphans(found).map((line) => line.split(' ')[0]))].sort(), [...HOLDING_KINDS].sort(), 'every kind is among them');
  t.ok(await exists(netns), 'looking removes nothing');

  const cleaned = await audit(shim, true);
  t.same(cleaned.holdings.filter(({ state }) => state === 'failed'), []);
  t.same(named(cleaned.holdings, 'cleaned'), expected);
  t.same(orphans(await audit(shim)), []);
  t.same(shim.plugins.calls.filter(({ command }) => command === 'DEL').map(({ containerId: of }) => of.slice(0, 8)).sort(), [id.slice(0, 8), reserved.slice(-8)].sort(), 'addresses are freed by DEL');
  for (const path of kept) t.ok(await exists(path), path);
  for (const pid of keptPids) t.doesNotThrow(() => globalThis.process.kill(pid, 0));
  const state = shim.containerd.state(NAMESPACE);
  t.ok(state.leases.has('criquet-pull-of-somebody'));
  t.ok(state.sandboxes.has('of-somebody'));
  t.ok(state.tasks.has(others));
  t.equal([...state.snapshotsOf('overlayfs').keys()].filter((key) => /^[0-9a-f]{64}$/.test(key)).length, 2, 'of the running container, and of somebody');
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1, 'it still runs');
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same((await audit(shim)).holdings, []);
});

test('a populated cgroup, a shim at work and a damaged cache file count where other things tell that the container was criquet\'s', async (t) => {
  const { shim, planter } = await prepared(t);
  const id = newId();
  const damaged = await written(join(shim.config.cni.cacheDir, 'results', `test-${id}-eth0`), '{"kind":');
  t.same(orphans(await audit(shim)), []);
  const files = planter.layout.sandboxFiles(id);
  await mkdir(files, { recursive: true });
  t.same(orphans(await audit(shim)), [`cni-attachment test/eth0/${id}`, `pod-files ${files}`]);
  t.same(orphans(await audit(shim, true)), []);
  t.notOk(await exists(damaged));
  t.match(shim.plugins.calls.at(-1), { command: 'DEL', containerId: id, config: { name: 'test' } }, "by today's configuration");
});

test('pods that come and go meanwhile are never taken for leftovers', async (t) => {
  const { shim } = await prepared(t);
  let done = false;
  const churn = async (name: string) => {
    while (!done) {
      const config = { metadata: { name, namespace: 'ns', uid: name, attempt: 0 } };
      const pod = await shim.runPod(config);
      await shim.startContainer(pod, { logPath: `${name}.log` });
      await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
    }
  };
  const churning = Promise.all(['a', 'b', 'c'].map(churn));
  for (let round = 0; round < 4; round += 1) {
    const { holdings, problems } = await audit(shim, true);
    t.same(problems, []);
    t.same(named(holdings, 'orphan', 'cleaned', 'failed'), []);
  }
  done = true;
  await churning;
});

test('a creation that stands still is no leftover, wherever it stands', async (t) => {
  const { shim } = await prepared(t);
  for (const step of ['write the pod files', 'attach to the pod network', 'create the pause process', 'record that it is ready'] as const) {
    const config = { metadata: { name: step.replaceAll(' ', '-'), namespace: 'ns', uid: step, attempt: 0 } };
    let pod: Promise<string> | undefined;
    const release = await shim.failpoints.holdUntilReached(`RunPodSandbox/${step}`, () => {
      pod = shim.runPod(config);
    });
    t.same(orphans(await audit(shim)), [], step);
    release();
    await pod;
  }
});

test('a kind that cannot be looked at, or a thing that cannot be removed, does not keep the others', async (t) => {
  const { shim, planter } = await prepared(t);
  const id = newId();
  const files = planter.layout.sandboxFiles(id);
  await mkdir(files, { recursive: true });
  await planter.client().snapshots.prepare('overlayfs', id, '', { labels: ownedBy(id) });
  shim.containerd.control.fail('leases.list', { code: 13, details: 'no list today' });
  shim.containerd.control.fail('snapshots.remove', { code: 9, details: 'busy' });
  const report = await audit(shim, true);
  t.match(report.problems, [{ kind: 'lease', error: /no list today/ }]);
  t.match(report.holdings.filter(({ state }) => state === 'failed'), [{ kind: 'snapshot', name: `overlayfs/${id}`, error: /busy/ }]);
  t.same(named(report.holdings, 'cleaned'), [`pod-files ${files}`]);
  shim.containerd.stop();
  await t.rejects(audit(shim), { name: 'ContainerdError' });
  await shim.containerd.listen();
});

test('a daemon that is not seen from here, and a node that somebody else cleans: nothing is judged', async (t) => {
  const { shim, planter } = await prepared(t);
  const files = planter.layout.sandboxFiles(newId());
  await mkdir(files, { recursive: true });
  const lock = await takeCleaningLock(shim.config.stateDir);
  await t.rejects(audit(shim, true), { message: /somebody else is cleaning up/ });
  t.match(await audit(shim), { daemonPid: process.pid }, 'looking is no matter');
  await lock.release();
  await writeFile(join(shim.config.stateDir, 'lock'), '4194304 1 0123abcd'.padEnd(64));
  await t.rejects(audit(shim, true), { message: /a daemon serves .* and is not seen from here/ });
  t.ok(await exists(files));
});
