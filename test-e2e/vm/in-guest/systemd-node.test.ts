/*
 * What only a node with pure cgroup v2, systemd as process 1 and AppArmor shows. Runs inside the guest that vm.test.ts boots.
 */
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CgroupDriver, SecurityProfile_ProfileType, type ContainerStatus, type Metric } from '@criquet/cri-api';
import { eventually } from '../../harness/eventually.js';
import { onEachEngine } from '../../harness/on-each-engine.js';
import { CALL, TestPod, type TestContainer } from '../../harness/pods.js';
import { run } from '../../harness/run.js';

const MIB = 1024n * 1024n;
const CGROUPS = '/sys/fs/cgroup';
const RESOURCES = {
  cpuPeriod: 100_000n,
  cpuQuota: 50_000n,
  cpuShares: 512n,
  memoryLimitInBytes: 64n * MIB,
  cpusetCpus: '0',
  unified: { 'memory.high': String(48n * MIB) },
};

/** Files of a cgroup, each trimmed. */
async function files<Name extends string>(directory: string, ...names: Name[]): Promise<Record<Name, string>> {
  const entries = await Promise.all(names.map(async (name) => [name, (await readFile(join(directory, name), 'utf8')).trim()] as const));
  return Object.fromEntries(entries) as Record<Name, string>;
}

await onEachEngine(
  "systemd's cgroup driver, cgroup v2, AppArmor",
  async (t, node) => {
    const { runtime } = node.cri;
    // The kubelet's naming: a slice of a class below kubepods, and the pod's own below that, sent with all its parents.
    const parent = `${node.podCgroup('burstable')}/${node.cgroupParent}-burstable-pod7.slice`;
    const pod = await TestPod.run(node, { linux: { cgroupParent: parent, overhead: {}, resources: {} } });
    const scope = (id: string): string => `cri-containerd-${id}.scope`;
    const directory = (id: string): string => join(CGROUPS, parent, scope(id));
    const processOf = async ({ id }: TestContainer): Promise<number> => {
      const { info } = await runtime.containerStatus({ containerId: id, verbose: true }, CALL);
      return (JSON.parse(info.info ?? '{}') as { pid: number }).pid;
    };

    await t.test('RuntimeConfig tells the driver that the running system calls for', async (t) => {
      const { linux } = await runtime.runtimeConfig({}, CALL);
      t.equal(linux?.cgroupDriver, CgroupDriver.SYSTEMD);
    });

    await t.test("sandbox and container are systemd's scopes in the pod's slice", async (t) => {
      const container = await pod.start();
      const { info } = await runtime.podSandboxStatus({ podSandboxId: pod.id, verbose: true }, CALL);
      const pause = (JSON.parse(info.info ?? '{}') as { pid: number }).pid;
      for (const [id, pid] of [[pod.id, pause], [container.id, await processOf(container)]] as const) {
        t.equal((await readFile(`/proc/${pid}/cgroup`, 'utf8')).trim(), `0::${parent}/${scope(id)}`);
        const shown = await run('systemctl', ['show', '--property=ActiveState,Slice,Delegate', scope(id)]);
        t.same(shown.trim().split('\n').sort(), ['ActiveState=active', 'Delegate=yes', `Slice=${node.cgroupParent}-burstable-pod7.slice`]);
      }
      await container.remove();
      await t.rejects(access(directory(container.id)), { code: 'ENOENT' }, 'and the scope goes with the container');
    });

    await t.test('a parent in the form of the other driver is refused with the reason', async (t) => {
      await t.rejects(TestPod.run(node, { linux: { cgroupParent: '/kubepods/pod1' } }), { message: /cgroup_parent.*systemd/ });
    });

    await t.test("resources reach cgroup v2's files, those named in `unified` too", async (t) => {
      const container = await pod.start({ linux: { resources: RESOURCES } });
      t.same(await files(directory(container.id), 'cpu.max', 'memory.max', 'memory.swap.max', 'memory.high', 'cpuset.cpus'), {
        'cpu.max': '50000 100000',
        'memory.max': String(64n * MIB),
        'memory.swap.max': '0',
        'memory.high': String(48n * MIB),
        'cpuset.cpus': '0',
      });
      const { linux } = (await container.status()).resources ?? {};
      t.match(linux, { memoryLimitInBytes: 64n * MIB, cpuShares: 512n, unified: RESOURCES.unified });
      await container.remove();
    });

    await t.test('an update changes the kernel and the unit: `systemctl daemon-reload` sets nothing back', async (t) => {
      const container = await pod.start({
        linux: { resources: RESOURCES },
        devices: [{ hostPath: '/dev/fuse', containerPath: '/dev/fuse', permissions: 'rw' }],
      });
      await runtime.updateContainerResources(
        {
          containerId: container.id,
          linux: { memoryLimitInBytes: 96n * MIB, cpuQuota: 20_000n, cpuPeriod: 100_000n, unified: { 'memory.high': String(80n * MIB) } },
        },
        CALL,
      );
      const expected = { 'cpu.max': '20000 100000', 'memory.max': String(96n * MIB), 'memory.high': String(80n * MIB), 'cpuset.cpus': '0' };
      const names = ['cpu.max', 'memory.max', 'memory.high', 'cpuset.cpus'] as const;
      t.same(await files(directory(container.id), ...names), expected);
      const opens = ['sh', '-c', 'exec 3<>/dev/fuse && echo opened'];
      t.match(await container.exec(opens), { stdout: 'opened\n' });
      await run('systemctl', ['daemon-reload']);
      t.same(await files(directory(container.id), ...names), expected);
      t.match(await container.exec(opens), { stdout: 'opened\n' }, 'nor does it take a device away');
      await container.remove();
    });

    await t.test('a limit below what is in use is refused and changes nothing', async (t) => {
      const container = await pod.start({
        command: ['sh', '-c', 'dd if=/dev/zero of=/dev/shm/x bs=1M count=40 2>/dev/null; echo ready; sleep 3600'],
        linux: { resources: { memoryLimitInBytes: 64n * MIB } },
      });
      await eventually(async () => {
        if ((await container.log()).length === 0) throw new Error('not ready');
      });
      await t.rejects(runtime.updateContainerResources({ containerId: container.id, linux: { memoryLimitInBytes: 8n * MIB } }, CALL));
      t.same(await files(directory(container.id), 'memory.max'), { 'memory.max': String(64n * MIB) });
      t.match(await container.exec(['echo', 'alive']), { stdout: 'alive\n' });
      await container.remove();
    });

    await t.test('stats: CPU, memory, processes, and pressure of CPU, memory and I/O', async (t) => {
      const container = await pod.start({
        command: ['sh', '-c', 'dd if=/dev/zero of=/dev/shm/x bs=1M count=20 2>/dev/null; echo ready; while :; do :; done'],
        linux: { resources: { memoryLimitInBytes: 64n * MIB, cpuPeriod: 100_000n, cpuQuota: 10_000n } },
      });
      await eventually(async () => {
        if ((await container.log()).length === 0) throw new Error('dd runs');
      });
      // A quota that is used up makes tasks wait for CPU: its pressure cannot stay 0.
      const stats = await eventually(async () => {
        const { stats: now } = await runtime.containerStats({ containerId: container.id }, CALL);
        if ((now?.cpu?.psi?.Some?.Total ?? 0n) === 0n || (now?.memory?.workingSetBytes?.value ?? 0n) < 20n * MIB) throw new Error('not yet');
        return now;
      });
      const memory = stats?.memory;
      t.ok((stats?.cpu?.usageCoreNanoSeconds?.value ?? 0n) > 0n);
      t.equal((memory?.workingSetBytes?.value ?? 0n) + (memory?.availableBytes?.value ?? 0n), 64n * MIB);
      t.ok(memory?.psi?.Full !== undefined && memory.psi.Some !== undefined, 'memory pressure');
      t.ok(stats?.io?.psi?.Full !== undefined && stats.io.psi.Some !== undefined, 'I/O pressure');
      const { stats: ofPod } = await runtime.podSandboxStats({ podSandboxId: pod.id }, CALL);
      t.ok((ofPod?.linux?.memory?.usageBytes?.value ?? 0n) >= 20n * MIB, "the pod's slice counts its containers");
      t.ok((ofPod?.linux?.cpu?.psi?.Some?.Total ?? 0n) > 0n);
      t.equal(ofPod?.linux?.process?.processCount?.value, 2n, 'pause and the shell');

      const { podMetrics } = await runtime.listPodSandboxMetrics({}, CALL);
      const metrics = podMetrics.flatMap(({ containerMetrics }) => containerMetrics).find(({ containerId }) => containerId === container.id)?.metrics ?? [];
      const named = (name: string): Metric[] => metrics.filter((metric) => metric.name === name);
      t.equal(named('container_spec_memory_limit_bytes')[0]?.value?.value, 64n * MIB);
      for (const kind of ['cpu', 'memory', 'io']) {
        for (const state of ['waiting', 'stalled']) {
          t.equal(named(`container_pressure_${kind}_${state}_seconds_total`).length, 1, `pressure: ${kind} ${state}`);
        }
      }
      const hugetlb = (await readFile(join(CGROUPS, 'cgroup.controllers'), 'utf8')).split(/\s/).includes('hugetlb');
      t.equal(named('container_hugetlb_usage_bytes').length > 0, hugetlb, 'huge pages where the kernel has that controller');
      await container.remove();
    });

    await t.test('the memory limit kills: OOMKilled, and the pod goes on', async (t) => {
      const container = await pod.script('dd if=/dev/zero of=/dev/shm/x bs=1M count=64', { linux: { resources: { memoryLimitInBytes: 16n * MIB } } });
      const status: ContainerStatus = await container.status();
      t.equal(status.reason, 'OOMKilled');
      t.match(await (await pod.start()).exec(['echo', 'alive']), { stdout: 'alive\n' });
    });

    await t.test('AppArmor: the default profile, none, one by name, and one that is not loaded', async (t) => {
      const profileOf = async (apparmor: { profileType: SecurityProfile_ProfileType; localhostRef?: string } | undefined): Promise<string> => {
        const container = await pod.start({ linux: { securityContext: apparmor === undefined ? {} : { apparmor } } });
        const { stdout } = await container.exec(['cat', '/proc/self/attr/current']);
        await container.remove();
        return stdout.trim();
      };
      t.match(await profileOf(undefined), /^\S+ \(enforce\)$/, 'the default without being asked');
      t.match(await profileOf({ profileType: SecurityProfile_ProfileType.RuntimeDefault }), /^\S+ \(enforce\)$/);
      t.equal(await profileOf({ profileType: SecurityProfile_ProfileType.Unconfined }), 'unconfined');
      await t.rejects(profileOf({ profileType: SecurityProfile_ProfileType.Localhost, localhostRef: 'no-such-profile' }), { message: /no-such-profile/ });
      const privilegedPod = await TestPod.run(node, { linux: { cgroupParent: parent, securityContext: { privileged: true } } });
      const privileged = await privilegedPod.start({ linux: { securityContext: { privileged: true } } });
      t.match(await privileged.exec(['cat', '/proc/self/attr/current']), { stdout: /^unconfined/ });
      await privilegedPod.remove();
    });

    await t.test('cgroup_writable: a container of that handler makes cgroups below its own, others cannot', async (t) => {
      const makeCgroup = ['sh', '-c', 'mkdir /sys/fs/cgroup/inner && rmdir /sys/fs/cgroup/inner && echo made'];
      t.match(await (await pod.start()).exec(makeCgroup), { exitCode: 1, stderr: /Read-only file system/ });
      const writable = await TestPod.run(node, { linux: { cgroupParent: parent } }, 'writable');
      t.match(await (await writable.start()).exec(makeCgroup), { exitCode: 0, stdout: 'made\n' });
      await writable.remove();
    });

    await pod.remove();
    // As the kubelet does with what it named in `cgroup_parent`: systemd keeps slices that are empty.
    await run('systemctl', ['stop', `${node.cgroupParent}-burstable.slice`]);
  },
  { only: 'criquet', extraConfig: '[runtime.handlers.runc]\n[runtime.handlers.writable]\ncgroup_writable = true\n' },
);
