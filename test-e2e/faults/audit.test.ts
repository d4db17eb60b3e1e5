import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startAnsweringRegistry } from '../harness/answering-registry.js';
import { audit, named } from '../harness/audit.js';
import { eventually } from '../harness/eventually.js';
import type { TestNode } from '../harness/node.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { readForm } from './form.js';
import { supports, usePlugin, useGoodNetwork } from '../harness/own-plugin.js';
import { reservedAddresses } from '../harness/pod-network.js';
import { CALL, TestPod } from '../harness/pods.js';
import { writeRegistryHosts } from '../harness/registry-hosts.js';
import { exists, Leftovers, newId } from './leftovers.js';

/** What only a running daemon holds. */
const OF_THE_DAEMON = ['log-handle', 'stream-token'];
const OTHERS = [
  'container', 'sandbox', 'task', 'shim', 'cni-attachment', 'ipam-reservation', 'mount', 'netns', 'userns', 'fifos', 'image-volumes', 'snapshot', 'lease', 'declared-volumes', 'checkpoint', 'pod-files', 'cgroup',
];
const kinds = (lines: readonly string[]): string[] => [...new Set(lines.map((line) => line.split(' ')[0] ?? ''))].sort();

await onEachEngine(
  'what has no owner',
  async (t, node) => {
    const leftovers = new Leftovers(node);
    t.teardown(() => leftovers.close());
    const { stateDir, rootDir } = leftovers;
    const kept = await TestPod.run(node);
    const container = await kept.start();
    const own = leftovers.containerd();

    // Of others, or of nobody within reach; it stays to the end.
    const foreign = await leftovers.foreignContainer('of-somebody');
    const snapshot = newId();
    await leftovers.snapshot(snapshot, {});
    await leftovers.lease('criquet-pull-of-somebody');
    const foreignCgroup = await leftovers.cgroup(foreign);
    const foreignFiles = [
      await leftovers.reservation(foreign, 251),
      await leftovers.file(join(node.criquet?.cniCacheDir ?? '', 'results', `${node.network.name}-${newId()}-eth0`), '{"damaged":'),
      await leftovers.directory(rootDir, 'volumes/not-an-id'),
      await leftovers.file(join(stateDir, 'netns/of-somebody')),
    ];
    const foreignShim = await leftovers.shim(newId(), '/run/of-somebody/containerd.sock');
    const before = await node.state();
    const expectUntouched = async (): Promise<void> => {
      t.strictSame(await node.leaksSince(before), [], 'by other means than the audit: what was removed is gone, and nothing else');
      for (const path of foreignFiles) t.ok(await exists(path), path);
      t.ok(await exists(`/proc/${foreignShim}`));
      t.equal((await container.exec(['echo', 'still'])).stdout, 'still\n');
    };

    await t.test('a node at work has no orphans', async (t) => {
      const { code, problems, daemonPid, counts } = await audit(node);
      t.match({ code, problems, counts }, { code: 0, problems: [], counts: { orphan: 0 } });
      t.equal(daemonPid, node.criquet?.pid);
      t.ok(counts.owned > 10);
    });

    await t.test('records removed behind a killed daemon, and one more thing of each kind: found, removed, nothing else touched', async (t) => {
      const lost = await TestPod.run(node);
      const running = await lost.start();
      const parent = await TestPod.run(node);
      const child = await parent.start();
      container.exec(['sleep', '1000'], 1_000n).catch(() => undefined);
      await eventually(() => commandRuns(node));
      await node.criquet?.stop('SIGKILL');
      for (const id of [running.id, lost.id, parent.id]) await own.containers.delete(id);
      const id = newId();
      await leftovers.file(join(stateDir, 'userns', id));
      await leftovers.directory(stateDir, 'image-volumes', id, '0');
      await leftovers.directory(rootDir, 'volumes', id, '0');
      await leftovers.mount(rootDir, 'checkpoints', id, 'restore/criu');
      await leftovers.snapshot(id, { 'criquet.owner': id });
      await leftovers.lease('criquet-pull-lost', 'criquet.daemon=00000000');
      const shim = await leftovers.shim(newId());
      const cgroup = await leftovers.cgroup(id);
      const reservation = await leftovers.reservation(newId(), 250);

      const found = await audit(node);
      t.match(found, { code: 6, problems: [], daemonPid: null });
      const orphans = named(found, 'orphan');
      t.strictSame(kinds(orphans), [...OTHERS].sort(), 'every kind but what only a daemon has');
      t.comment(`covered: ${OTHERS.length + OF_THE_DAEMON.length} kinds of holdings without an owner`);
      for (const line of [`task ${lost.id}`, `task ${running.id}`, `container ${child.id}`, `shim ${shim}`, `cgroup ${cgroup}`, `ipam-reservation ${reservation}`, `netns ${join(stateDir, 'netns', `criquet-${lost.id}`)}`]) {
        t.ok(orphans.includes(line), line);
      }
      t.notOk(orphans.some((line) => line.includes(kept.id) || line.includes(foreign) || line === `cgroup ${foreignCgroup}`));

      const cleaned = await audit(node, '--clean');
      t.match(cleaned, { code: 0, counts: { orphan: 0, failed: 0 } });
      t.match(await audit(node), { code: 0, counts: { orphan: 0 } });
      await node.criquet?.start();
      await expectUntouched();
    });

    await t.test('a container whose record goes behind a running daemon: its log and URL are told and let go of', async (t) => {
      const behind = await kept.start();
      await node.cri.runtime.exec({ containerId: behind.id, cmd: ['sh'], stdout: true }, CALL);
      await own.containers.delete(behind.id);
      const found = await audit(node, '--orphans');
      t.equal(found.code, 6);
      for (const kind of OF_THE_DAEMON) t.ok(kinds(named(found, 'orphan')).includes(kind), kind);
      t.strictSame([...new Set(found.holdings.map(({ owner }) => owner))], [behind.id]);
      t.match(await audit(node, '--clean'), { code: 0, counts: { failed: 0 } });
      await expectUntouched();
    });

    await t.test('the next daemon ends the command of a killed one and removes what has no owner', async (t) => {
      const done = container.exec(['sleep', '1000'], 1_000n).catch(() => undefined);
      await eventually(() => commandRuns(node));
      await node.criquet?.stop('SIGKILL');
      await done;
      await leftovers.directory(rootDir, 'volumes', newId(), '0');
      await leftovers.lease('criquet-pull-lost', 'criquet.daemon=00000000');
      await node.criquet?.start();
      t.strictSame(await node.leaksSince(before, 20_000), []);
      await expectUntouched();
    });

    await t.test('the lease and the half-pulled layers of a killed pull go at the next start', async (t) => {
      const registry = await stallingRegistry(node);
      t.teardown(() => registry.close());
      await writeRegistryHosts(node.hostsDir, registry.url, ['stalls.criquet.test']);
      const image = 'stalls.criquet.test/e2e-test-images/nginx:1.14-2';
      const pull = node.cri.image.pullImage({ image: { image } }, CALL).catch(() => undefined);
      const ingests = async () => (await node.containerd.ctr('--namespace', 'k8s.io', 'content', 'active')).trim().split('\n').slice(1);
      await eventually(async () => {
        if ((await ingests()).length === 0) throw new Error('nothing is pulled yet');
      });
      await node.criquet?.stop('SIGKILL');
      await pull;
      await node.criquet?.start();
      await eventually(async () => {
        const left = await ingests();
        if (left.length > 0) throw new Error(`still there: ${left.join('; ')}`);
      }, 20_000);
      await expectUntouched();
    });

    await kept.remove();
    await leftovers.removeForeign('of-somebody', foreign, 'criquet-pull-of-somebody', snapshot);
    for (const path of foreignFiles) await rm(path, { recursive: true });
    await leftovers.close();
  },
  { only: 'criquet', ...(readForm().whole ? {} : { engines: 'newest' }) },
);

await onEachEngine(
  'CNI GC',
  async (t, node) => {
    const without = (await supports(node, '1.1.0')) ? false : 'these CNI plugins are older than CNI 1.1';
    await t.test('N7: at start plugins are told what is in use: a leaked address is freed, a pod keeps its own', { skip: without }, async (t) => {
      const record = join(node.directory, 'gc');
      await mkdir(record, { recursive: true });
      await usePlugin(node, 'recording', `case $CNI_COMMAND in GC) printf %s "$input" > ${record}/$$;; STATUS) exit 0;; ADD) printf %s "$input" | sed 's/.*"prevResult": *//; s/}$//';; esac; exit 0`, '1.1.0');
      const pod = await TestPod.run(node);
      const address = await pod.ip();
      await node.criquet?.stop();
      // The first daemon may have come to its own GC after the plugin was put there.
      await rm(record, { recursive: true });
      await mkdir(record);
      const leaked = node.network.subnet.replace(/0\/24$/, '250');
      await writeFile(join(node.network.reservations, leaked), `${newId()}\r\neth0`);
      t.strictSame(await reservedAddresses(node.network), [address, leaked].sort());
      await node.criquet?.start();
      await eventually(async () => {
        const reserved = await reservedAddresses(node.network);
        if (reserved.length !== 1) throw new Error(`reserved: ${reserved.join(', ')}`);
      }, 20_000);
      t.strictSame(await reservedAddresses(node.network), [address]);
      const told = await eventually(async () => {
        const [file = ''] = (await node.filesBelow('gc')).slice(-1);
        return JSON.parse(await readFile(join(record, file), 'utf8')) as Record<string, unknown>;
      });
      t.strictSame(told['cni.dev/valid-attachments'], [{ containerID: pod.id, ifname: 'eth0' }]);
      await pod.remove();
      t.strictSame(await reservedAddresses(node.network), []);
      await useGoodNetwork(node);
    });
  },
  { only: 'criquet', ...(readForm().whole ? {} : { engines: 'newest' }) },
);

async function commandRuns(node: TestNode): Promise<void> {
  const { processes } = await node.state();
  if (!processes.some((line) => line.endsWith('sleep 1000'))) throw new Error('the command does not run yet');
}

/** The node's registry, of whose layers only the beginning comes. */
function stallingRegistry(node: TestNode): ReturnType<typeof startAnsweringRegistry> {
  return startAnsweringRegistry((request, response) => {
    void fetch(new URL(request.url ?? '/', node.registry.url), { method: request.method ?? 'GET', headers: { accept: request.headers.accept ?? '*/*' } }).then(async (answer) => {
      const body = Buffer.from(await answer.arrayBuffer());
      const stalls = body.length > 100_000;
      response.writeHead(answer.status, Object.fromEntries([...answer.headers].filter(([name]) => !/^(?:connection|transfer-encoding|content-encoding|keep-alive)$/.test(name))));
      if (stalls) response.write(body.subarray(0, 50_000));
      else response.end(body);
    });
  });
}
