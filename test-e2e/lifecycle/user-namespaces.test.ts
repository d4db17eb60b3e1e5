import { spawn } from 'node:child_process';
import { chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { NamespaceMode, type ContainerConfig, type DeepPartial, type NamespaceOption, type PodSandboxConfig } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import { findTool } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { CALL, TestPod, type TestContainer } from '../harness/pods.js';
import { undocumentedFiles } from '../security/file-modes.js';

const UID = 200_000;
const GID = 300_000;
const LENGTH = 65_536;

/** User and group ids begin at different places, so that one taken for the other shows. */
const USERNS: DeepPartial<NamespaceOption> = {
  pid: NamespaceMode.CONTAINER,
  usernsOptions: {
    mode: NamespaceMode.POD,
    uids: [{ containerId: 0, hostId: UID, length: LENGTH }],
    gids: [{ containerId: 0, hostId: GID, length: LENGTH }],
  },
};

type Linux = NonNullable<DeepPartial<ContainerConfig>['linux']>;

const inUserns = (change: DeepPartial<NamespaceOption> = {}, linux: Linux = {}): DeepPartial<ContainerConfig> => ({
  linux: { ...linux, securityContext: { ...linux.securityContext, namespaceOptions: { ...USERNS, ...change } } },
});
const podInUserns = (change: DeepPartial<NamespaceOption> = {}, linux: DeepPartial<PodSandboxConfig>['linux'] = {}): DeepPartial<PodSandboxConfig> => ({
  linux: { ...linux, securityContext: { ...linux?.securityContext, namespaceOptions: { ...USERNS, ...change } } },
});
const words = (line: string): string[] => line.trim().split(/\s+/);

await onEachEngine(
  'user namespaces',
  async (t, node) => {
    const { runtime } = node.cri;
    const { criquet } = node;
    if (criquet === undefined) throw new Error('no criquet');

    const output = async (container: TestContainer) => (await container.log()).map((record) => record.text).join('\n');
    /** What stands in the streams, whichever was read first. */
    const lines = async (container: TestContainer) => (await container.log()).map((record) => record.text.replaceAll('\r', '')).sort();
    const hostPid = async (container: TestContainer): Promise<number> => {
      const { info } = await runtime.containerStatus({ containerId: container.id, verbose: true }, CALL);
      return (JSON.parse(info.info ?? '{}') as { pid: number }).pid;
    };

    const pod = await TestPod.run(node, podInUserns({}, { sysctls: { 'net.core.somaxconn': '777' } }));
    const main = await pod.start(inUserns());

    await t.test('files of the daemon are as SECURITY.md says, also what pins namespaces', async (t) => {
      t.strictSame(await undocumentedFiles(node.environment.checkout, { '<state_dir>': criquet.stateDir, '<root_dir>': criquet.rootDir }), []);
    });

    await t.test('its ids are those that were asked for, inside and on the node', async (t) => {
      const maps = await main.exec(['cat', '/proc/self/uid_map', '/proc/self/gid_map']);
      t.same(maps.stdout.trim().split('\n').map(words), [['0', String(UID), String(LENGTH)], ['0', String(GID), String(LENGTH)]]);
      t.equal((await main.exec(['id', '-u'])).stdout, '0\n', 'root of the pod');
      const status = await readFile(`/proc/${await hostPid(main)}/status`, 'utf8');
      t.match(status, new RegExp(`^Uid:\\s+${UID}\\s.*\\nGid:\\s+${GID}\\s`, 'm'), 'and nobody on the node');
    });

    await t.test('root of the pod owns its root file system and the files of the pod', async (t) => {
      const paths = ['/', '/bin', '/bin/sh', '/etc/hosts', '/etc/hostname', '/etc/resolv.conf', '/dev/shm'];
      const owners = await main.exec(['stat', '-c', '%u:%g %n', ...paths]);
      t.same(owners.stdout.trim().split('\n'), paths.map((path) => `0:0 ${path}`), owners.stderr);
      const written = await main.exec(['sh', '-c', 'echo 10.0.0.1 x >> /etc/hosts && touch /new /dev/shm/new && chown 7:8 /new && stat -c %u:%g /new']);
      t.match(written, { exitCode: 0, stdout: '7:8\n' });
      const file = await stat(`/proc/${await hostPid(main)}/root/new`);
      t.same([file.uid, file.gid], [UID + 7, GID + 8]);
      t.not((await main.exec(['sh', '-c', 'echo 1 > /proc/sys/kernel/panic'])).exitCode, 0, 'no power over the node');
    });

    await t.test('its network: address, a privileged port, sysctls, and what belongs to its root', async (t) => {
      const ip = await pod.ip();
      await pod.start({ ...inUserns({}, { securityContext: { runAsUser: { value: 1000n } } }), command: ['sh', '-c', 'mkdir -p /tmp/www; echo -n page >/tmp/www/index.html; exec httpd -f -p 80 -h /tmp/www'] });
      t.equal(await eventually(() => page(ip)), 'page', 'a process without privileges on port 80');
      t.match((await main.exec(['ip', 'addr'])).stdout, new RegExp(`lo:.*UP[^]*inet ${ip.replaceAll('.', '\\.')}/`));
      const sysctls = await main.exec(['cat', '/proc/sys/net/core/somaxconn', '/proc/sys/net/ipv4/ip_unprivileged_port_start', '/proc/sys/net/ipv4/ping_group_range']);
      t.same(sysctls.stdout.trim().split('\n').map(words), [['777'], ['0'], ['0', String(LENGTH - 1)]]);
      t.match((await main.exec(['ip', 'link', 'set', 'lo', 'down'])).stderr, /not permitted/, 'without NET_ADMIN it changes nothing');
      t.equal((await main.exec(['stat', '-c', '%u:%g', '/proc/net/dev'])).stdout, '0:0\n');
      t.match((await main.exec(['ls', '/sys/class/net'])).stdout, /eth0/);
    });

    await t.test('standard streams can be opened again, with and without a terminal, by root and others', async (t) => {
      const script = 'echo out > /dev/stdout; echo err > /dev/stderr; echo done';
      for (const user of [0n, 1000n]) {
        const securityContext = { runAsUser: { value: user } };
        const plain = await pod.script(script, inUserns({}, { securityContext }));
        t.same(await lines(plain), ['done', 'err', 'out'], `user ${user}`);
        const terminal = await pod.script(script, { ...inUserns({}, { securityContext }), tty: true });
        t.same(await lines(terminal), ['done', 'err', 'out'], `user ${user}, terminal`);
      }
      t.match(await main.exec(['sh', '-c', 'echo exec > /dev/stdout']), { exitCode: 0, stdout: 'exec\n' });
    });

    await t.test('volumes: the ids of the mount are mapped', async (t) => {
      const directory = join(node.directory, 'volume');
      await mkdir(directory, { mode: 0o755 });
      for (const id of [0, 1000]) {
        await writeFile(join(directory, String(id)), '', { mode: 0o600 });
        await chown(join(directory, String(id)), id, id + 1);
      }
      const mapping = (hostId: number) => [{ containerId: 0, hostId, length: LENGTH }];
      const reader = await pod.script('stat -c %u:%g /mapped/0 /mapped/1000 /plain/0; echo x > /mapped/0; touch /mapped/new && chown 5:6 /mapped/new', {
        ...inUserns(),
        mounts: [
          { hostPath: directory, containerPath: '/mapped', uidMappings: mapping(UID), gidMappings: mapping(GID) },
          { hostPath: directory, containerPath: '/plain' },
        ],
      });
      t.equal(await output(reader), '0:1\n1000:1001\n65534:65534');
      const created = await stat(join(directory, 'new'));
      t.same([created.uid, created.gid], [5, 6], 'on the volume as in the pod');
    });

    await t.test('read-only root, PID namespaces, privileged, resources, stats', async (t) => {
      const readonly = await pod.script('touch /x 2>/dev/null || echo no; cat /proc/self/uid_map', inUserns({}, { securityContext: { readonlyRootfs: true } }));
      t.match(await output(readonly), /^no\n.*200000/);
      const target = await pod.start(inUserns({ pid: NamespaceMode.TARGET, targetId: main.id }));
      t.match((await target.exec(['ps'])).stdout, /sleep 3600[^]*sleep 3600/, 'both containers');
      const shared = await pod.start(inUserns({ pid: NamespaceMode.POD }));
      t.match((await shared.exec(['ps'])).stdout, /\/pause/);
      await runtime.updateContainerResources({ containerId: main.id, linux: { memoryLimitInBytes: 64n * 1024n * 1024n } }, CALL);
      t.equal((await main.status()).resources?.linux?.memoryLimitInBytes, 64n * 1024n * 1024n);
      const { stats } = await runtime.containerStats({ containerId: main.id }, CALL);
      t.ok((stats?.memory?.workingSetBytes?.value ?? 0n) > 0n);
      const { stats: podStats } = await runtime.podSandboxStats({ podSandboxId: pod.id }, CALL);
      t.equal(podStats?.linux?.network?.defaultInterface?.name, 'eth0');
      const privileged = await TestPod.run(node, podInUserns({}, { securityContext: { privileged: true } }));
      const powerful = await privileged.script('cat /proc/self/uid_map; ip link set lo down && ip link show lo', inUserns({}, { securityContext: { privileged: true } }));
      t.match(await output(powerful), /200000[^]*lo: <LOOPBACK> mtu/, 'mighty in its own namespaces');
      await privileged.remove();
    });

    await t.test("the node's network", async (t) => {
      const host = await TestPod.run(node, podInUserns({ network: NamespaceMode.NODE }));
      const container = await host.start(inUserns({ network: NamespaceMode.NODE }));
      t.same(words((await container.exec(['cat', '/proc/self/uid_map'])).stdout), ['0', String(UID), String(LENGTH)]);
      t.match((await container.exec(['cat', '/proc/net/dev'])).stdout, new RegExp(node.network.bridge), "the node's interfaces");
      t.match((await container.exec(['sh', '-c', 'ls /sys/class/net; touch /sys/x'])), { stdout: /lo/, stderr: /Read-only/ });
      await host.remove();
    });

    await t.test('what cannot be is refused and leaves nothing', async (t) => {
      const before = await node.state();
      const refused = (overrides: DeepPartial<ContainerConfig>) => pod.create(overrides);
      await t.rejects(refused({}), { code: code.INVALID_ARGUMENT, message: /userns_options.*node's user namespace/ });
      const other = [{ containerId: 0, hostId: UID, length: 5 }];
      await t.rejects(refused(inUserns({ usernsOptions: { mode: NamespaceMode.POD, uids: other, gids: other } })), { code: code.INVALID_ARGUMENT });
      await t.rejects(refused(inUserns({}, { securityContext: { runAsUser: { value: 70_000n } } })), { code: code.INVALID_ARGUMENT, message: /user id 70000 is not in/ });
      await t.rejects(TestPod.run(node, podInUserns({ pid: NamespaceMode.NODE })), { code: code.INVALID_ARGUMENT, message: /namespace_options\.pid/ });
      t.strictSame(await node.leaksSince(before), []);
    });

    await t.test('port-forward reaches into its network', async (t) => {
      const crictl = await findTool(node.environment, 'crictl');
      if (crictl === undefined) return t.comment('crictl is not there: it is built with Go, which this machine lacks');
      const config = join(node.directory, 'crictl.yaml');
      await writeFile(config, `runtime-endpoint: ${node.endpoint}\nimage-endpoint: ${node.endpoint}\n`);
      const local = await freePort();
      const session = spawn(crictl, ['--config', config, 'port-forward', pod.id, `${local}:80`], { stdio: 'ignore' });
      t.equal(await eventually(() => page(`127.0.0.1:${local}`)), 'page');
      session.kill('SIGKILL');
      return undefined;
    });

    await t.test('the daemon is killed and comes back: the pod goes on, with new containers', async (t) => {
      await criquet.stop('SIGKILL');
      await criquet.start();
      await eventually(() => node.expectReady(), 20_000);
      t.same(words((await main.exec(['cat', '/proc/self/uid_map'])).stdout), ['0', String(UID), String(LENGTH)]);
      const later = await pod.script('cat /proc/self/gid_map; ip addr', inUserns());
      t.match(await output(later), new RegExp(`${GID}[^]*${await pod.ip()}`));
    });
    await pod.remove();

    await t.test('the daemon is killed while a pod is made: it can be removed, and nothing is left', async (t) => {
      const before = await node.state();
      for (const ms of [10, 50, 120]) {
        const running = TestPod.run(node, podInUserns()).catch(() => undefined);
        await pause(ms);
        await criquet.stop('SIGKILL');
        await running;
        await criquet.start();
        await eventually(() => node.expectReady(), 20_000);
      }
      await node.removePods();
      t.strictSame(await node.leaksSince(before), []);
    });
  },
  { only: 'criquet' },
);

async function page(host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(`http://${host}/`, (response) => void text(response).then(resolve, reject)).on('error', reject);
  });
}
