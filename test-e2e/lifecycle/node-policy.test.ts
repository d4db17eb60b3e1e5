import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ContainerState, type ContainerConfig, type DeepPartial } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import { readEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { CALL, TestPod, type TestContainer } from '../harness/pods.js';
import { run, tryRun } from '../harness/run.js';

/*
 * What the configuration of a node decides: devices from CDI, owners of devices, classes of block IO, resource limits, ambient
 * capabilities, the size of /dev/shm; and what the kernel does with memory limits.
 */

const MIB = 1024 * 1024;
/** R1 is a matter of luck when it is wrong; the whole measure is CRIQUET_E2E_OOM_ROUNDS=100. */
const OOM_ROUNDS = Number(process.env.CRIQUET_E2E_OOM_ROUNDS ?? 8);

const own = await mkdtemp(join(readEnvironment().root, 'criquet-policy-'));
const cdiDir = join(own, 'cdi');
const blockIoFile = join(own, 'blockio.yaml');
const disk = await firstDisk();
await writeFile(blockIoFile, `Classes:\n  slow:\n  - Devices: [${JSON.stringify(disk?.path ?? '/dev/none')}]\n    ThrottleReadBps: 10M\n`);

const extraConfig = `
[container]
shm_size = "16Mi"

[devices]
cdi_spec_dirs = [${JSON.stringify(cdiDir)}]
device_ownership_from_security_context = true

[resources]
default_ulimits = ["nofile=512:768", "core=0"]
blockio_config_file = ${JSON.stringify(blockIoFile)}

[security]
ambient_capabilities = true
`;

await onEachEngine('policy of a node', async (t, node, engine) => {
  const pod = await TestPod.run(node);
  const lines = async (container: TestContainer) => (await container.log()).map(({ text }) => text);
  const print = async (script: string, more: DeepPartial<ContainerConfig> = {}) => {
    const container = await pod.script(script, more);
    const printed = await lines(container);
    await container.remove();
    return printed;
  };

  await t.test('X7 CDI: a spec file that is written after the start; a broken one beside it', async (t) => {
    await rm(cdiDir, { recursive: true, force: true });
    const asking = { CDIDevices: [{ name: 'vendor.test/gpu=0' }] };
    await t.rejects(pod.create(asking), { code: code.FAILED_PRECONDITION, details: /vendor\.test\/gpu=0/ });
    const marker = join(own, `hook-ran-${engine}`);
    const interfaceName = `cqcdi${process.pid % 10_000}`;
    await mkdir(cdiDir, { recursive: true });
    await writeFile(join(cdiDir, 'broken.json'), '{');
    await writeFile(join(own, 'driver'), 'the driver\n');
    await writeFile(
      join(cdiDir, 'gpu.yaml'),
      `
cdiVersion: 1.1.0
kind: vendor.test/gpu
containerEdits:
  mounts:
  - {hostPath: ${join(own, 'driver')}, containerPath: /opt/driver, options: [ro, bind]}
devices:
- name: "0"
  containerEdits:
    env: [GPU=0]
    deviceNodes:
    - {path: /dev/gpu0, hostPath: /dev/zero, fileMode: 0640}
    - {path: /dev/gpu1, hostPath: /dev/kmsg, permissions: w}
    hooks:
    - {hookName: createRuntime, path: /usr/bin/touch, args: [touch, ${marker}]}
    additionalGids: [4444]
- name: nic
  containerEdits:
    netDevices:
    - {hostInterfaceName: ${interfaceName}, name: gpunet}
`,
    );
    const script = 'echo $GPU; cat /opt/driver; stat -c "%a %u %g" /dev/gpu0; head -c 4 /dev/gpu0 | wc -c; id -G';
    const printed = await print(script, { ...asking, linux: { securityContext: { runAsUser: { value: 1000n }, runAsGroup: { value: 2000n } } } });
    t.same(printed, ['0', 'the driver', '640 1000 2000', '4', '2000 4444']);
    t.ok(await stat(marker), 'the hook ran on the node');
    t.match((await print(': >/dev/gpu1 && echo opened; cat /dev/gpu1 2>&1 || true', asking)).join(), /^opened,.*Operation not permitted/, 'it is for writing');
    await run('ip', ['link', 'add', interfaceName, 'type', 'veth', 'peer', 'name', `${interfaceName}p`]);
    try {
      const devices = await print('cat /proc/net/dev', { CDIDevices: [{ name: 'vendor.test/gpu=nic' }] }).catch((error: unknown) => {
        if (/cannot move network interfaces/.test(String(error))) return undefined;
        throw error;
      });
      if (devices === undefined) t.comment('this runc is older than 1.4 and cannot move network interfaces');
      else t.match(devices.join('\n'), /gpunet:/);
    } finally {
      await tryRun('ip', ['link', 'delete', `${interfaceName}p`]);
    }
  });

  await t.test('devices belong to the user of the security context', async (t) => {
    const devices = [{ hostPath: '/dev/zero', containerPath: '/dev/mine', permissions: 'rwm' }];
    t.same(await print('stat -c "%u %g" /dev/mine', { devices, linux: { securityContext: { runAsUser: { value: 1000n }, runAsGroup: { value: 2000n } } } }), ['1000 2000']);
  });

  await t.test('default ulimits, for exec too', async (t) => {
    const container = await pod.start();
    t.match(await container.exec(['sh', '-c', 'ulimit -Sn; ulimit -Hn; ulimit -c']), { stdout: '512\n768\n0\n' });
    await container.remove();
  });

  await t.test('X6: ambient capabilities as an opt-in of the node', async (t) => {
    const securityContext = { runAsUser: { value: 1000n }, capabilities: { dropCapabilities: ['ALL'], addCapabilities: ['NET_BIND_SERVICE'] } };
    t.same(await print("grep -E '^Cap(Eff|Amb)' /proc/self/status | cut -f2", { linux: { securityContext } }), ['0000000000000400', '0000000000000400']);
  });

  await t.test('R6: a configured size of /dev/shm', async (t) => {
    t.same(await print("df -k /dev/shm | tail -1 | awk '{print $2}'"), ['16384']);
  });

  await t.test('a class of block IO reaches the cgroup', { skip: disk === undefined && 'no disk here' }, async (t) => {
    const container = await pod.start({ annotations: { 'io.kubernetes.cri.blockio-class': 'slow' } });
    const script = 'cd /sys/fs/cgroup; cat io.max 2>/dev/null || cat blkio/blkio.throttle.read_bps_device';
    t.match((await container.exec(['sh', '-c', script])).stdout, new RegExp(`^${disk?.numbers} (rbps=)?10000000\\b`, 'm'));
    await container.remove();
    await t.rejects(pod.create({ annotations: { 'io.kubernetes.cri.blockio-class': 'none' } }), { code: code.FAILED_PRECONDITION, details: /"none"/ });
  });

  await t.test('R5: no swap beyond memory by default, and as much as is asked for', async (t) => {
    const limit = BigInt(64 * MIB);
    const limits = async (memorySwapLimitInBytes: bigint) => {
      const container = await pod.start({ linux: { resources: { memoryLimitInBytes: limit, memorySwapLimitInBytes } } });
      const script =
        'cd /sys/fs/cgroup; if [ -e cgroup.controllers ]; then echo $(($(cat memory.max) + $(cat memory.swap.max))); ' +
        'else cat memory/memory.memsw.limit_in_bytes 2>/dev/null || echo absent; fi';
      const { stdout } = await container.exec(['sh', '-c', script]);
      await container.remove();
      return stdout.trim();
    };
    const accounted = (await limits(0n)) !== 'absent';
    t.equal(await limits(0n), accounted ? String(limit) : 'absent');
    t.equal(await limits(limit), accounted ? String(limit) : 'absent');
    t.equal(await limits(2n * limit), accounted ? String(2n * limit) : 'absent');
    await t.rejects(limits(limit / 2n), { code: code.INVALID_ARGUMENT });
  });

  await t.test('huge pages: limits of sizes that the node cannot limit do not keep a container from running', async (t) => {
    t.same(await print('echo runs', { linux: { resources: { hugepageLimits: [{ pageSize: '2MB', limit: 0n }] } } }), ['runs']);
  });

  await t.test(`R1: 137 for memory is OOMKilled from the first read, ${OOM_ROUNDS} times`, async (t) => {
    for (let round = 0; round < OOM_ROUNDS; round++) {
      const container = await pod.start({
        command: ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=20M'],
        linux: { resources: { memoryLimitInBytes: BigInt(15 * MIB) } },
      });
      const first = await firstExit(container);
      if (first.exitCode !== 137 || first.reason !== 'OOMKilled') t.fail(`round ${round}: ${first.exitCode} ${first.reason}`);
      await container.remove();
    }
  });

  await t.test('R1: a child dies for memory and the main process ends on TERM later: 143 is Error', async (t) => {
    const container = await pod.start({
      command: ['sh', '-c', 'dd if=/dev/zero of=/dev/null bs=20M; echo "child: $?"; exec sleep 3600'],
      linux: { resources: { memoryLimitInBytes: BigInt(15 * MIB) } },
    });
    await eventually(async () => {
      if (!(await lines(container)).includes('child: 137')) throw new Error('the child lives');
    }, 20_000);
    t.equal((await container.status()).state, ContainerState.CONTAINER_RUNNING);
    await node.cri.runtime.stopContainer({ containerId: container.id, timeout: 10n }, CALL);
    t.match(await container.status(), { exitCode: 143, reason: 'Error' });
    await container.remove();
  });

  await pod.remove();
}, { only: 'criquet', engines: 'newest', extraConfig });

await rm(own, { recursive: true });

/** The first status that says that the container has ended, read as often as it can be. */
async function firstExit(container: TestContainer) {
  const end = Date.now() + 20_000;
  for (;;) {
    const status = await container.status();
    if (status.state === ContainerState.CONTAINER_EXITED) return status;
    if (Date.now() > end) throw new Error('it does not end');
  }
}

/** A disk that throttling can be set on. */
async function firstDisk(): Promise<{ path: string; numbers: string } | undefined> {
  const partitions = await readFile('/proc/partitions', 'utf8');
  for (const [, major, minor, name = ''] of partitions.matchAll(/^\s*(\d+)\s+(\d+)\s+\d+\s+([sv]d[a-z]|nvme\d+n\d+)$/gm)) {
    const path = `/dev/${name}`;
    if (await stat(path).catch(() => undefined)) return { path, numbers: `${major}:${minor}` };
  }
  return undefined;
}
