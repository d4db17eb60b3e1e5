/*
 * A node with criquet under systemd loses its power while a kubelet's pods run, and boots again on the disk that is left. Runs inside a guest that is
 * run with `powerCut`, once before the cut and once after it. Then its clock is set back.
 */
import { mkdir, open, readdir, readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import t, { type Test } from 'tap';
import { enginesUnderTest, patience, readEnvironment } from '../../harness/environment.js';
import { eventually } from '../../harness/eventually.js';
import { BUSYBOX } from '../../harness/pods.js';
import { run, tryRun } from '../../harness/run.js';
import { GUEST, POWER_CUT } from '../guest-job.js';
import { crictl, CRIQUET_ENDPOINT, SystemdKubelet, type KubeletContainer } from './systemd-kubelet.js';

const BEFORE = '/var/lib/node-reboot/before.json';
const RESERVATIONS = '/var/lib/cni/networks/guest';
const SERVING = ['containerd.service', 'criquet.service', 'kubelet.service'];
/** Pods that are to come back, and one that has ended before. */
const LASTING = ['web', 'two', 'fresh'];
const ENDED = { name: 'job', exitCode: 7 };

/** What boot 1 leaves to boot 2. */
interface Before {
  readonly bootId: string;
  readonly containers: Readonly<Record<string, readonly KubeletContainer[]>>;
}

interface Listed {
  readonly id: string;
  readonly state: string;
  readonly metadata: { readonly name: string };
  readonly podSandboxId?: string;
  readonly labels: Readonly<Record<string, string>>;
}

const script = (code: string): readonly string[] => ['sh', '-c', code];
const STAY = 'trap "exit 0" TERM; while :; do sleep 1000 & wait; done';
const PODS: Readonly<Record<string, object>> = {
  web: { containers: [{ name: 'main', image: BUSYBOX, command: script('mkdir -p /www && exec httpd -f -p 8080 -h /www'), readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 } }] },
  two: { containers: ['one', 'other'].map((name) => ({ name, image: BUSYBOX, command: script(`echo run of ${name}; ${STAY}`) })) },
  job: { restartPolicy: 'Never', containers: [{ name: 'main', image: BUSYBOX, command: script(`exit ${ENDED.exitCode}`) }] },
};
const QUICK = { terminationGracePeriodSeconds: 2 };

const environment = readEnvironment();
const [engine] = enginesUnderTest(environment);
if (engine === undefined) throw new Error('no containerd');
const text = await readFile(BEFORE, 'utf8').catch(() => undefined);
if (text === undefined) await untilThePowerIsCut();
else await afterwards(JSON.parse(text) as Before);

async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}

async function untilThePowerIsCut(): Promise<void> {
  const node = await SystemdKubelet.start(environment, engine ?? '2.4', 'criquet');
  for (const [name, spec] of Object.entries(PODS)) await node.apply(name, { ...QUICK, ...spec });
  for (const name of ['web', 'two']) await node.ready(name, CRIQUET_ENDPOINT, 120_000);
  await ended(node);
  await mkdir('/var/lib/node-reboot');
  const containers = Object.fromEntries([...(await node.pods())].map(([name, { status }]) => [name, status.containerStatuses ?? []]));
  const facts: Before = { bootId: await bootId(), containers };
  const file = await open(BEFORE, 'w');
  await file.writeFile(JSON.stringify(facts));
  await file.sync();
  await file.close();
  // It comes up after the last sync: what the kernel has not written of it yet is lost.
  await node.apply('fresh', { ...QUICK, containers: [{ name: 'main', image: BUSYBOX, command: script(STAY) }] });
  await run('sync', ['--file-system', GUEST.results]);
  await node.ready('fresh', CRIQUET_ENDPOINT, 120_000);
  console.error(POWER_CUT);
  await new Promise(() => setInterval(() => undefined, 60_000));
}

async function ended(node: SystemdKubelet): Promise<KubeletContainer> {
  return eventually(
    async () => {
      const [container] = (await node.pods()).get(ENDED.name)?.status.containerStatuses ?? [];
      if (container?.state.terminated === undefined) throw new Error(`${ENDED.name} has not ended: ${JSON.stringify(container)}`);
      return container;
    },
    120_000,
    1_000,
  );
}

async function list(...what: string[]): Promise<Listed[]> {
  const answer = JSON.parse(await crictl(CRIQUET_ENDPOINT, ...what, '--output', 'json')) as { items?: Listed[]; containers?: Listed[] };
  return answer.items ?? answer.containers ?? [];
}

function podOf({ labels }: Listed): string {
  return labels['io.kubernetes.pod.name']?.replace(/-guest$/, '') ?? '';
}

function idOf({ containerID = '' }: KubeletContainer): string {
  return containerID.replace(/^.*:\/\//, '');
}

async function afterwards(before: Before): Promise<void> {
  const node = await SystemdKubelet.found(environment);
  t.teardown(() => node.dispose());
  const booted = performance.now();

  await t.test('the units start with the boot, and every pod comes back, once', async (t) => {
    t.not(await bootId(), before.bootId, 'another boot');
    for (const name of LASTING) {
      await node.ready(name, CRIQUET_ENDPOINT, 180_000);
      for (const [index, container] of ((await node.pods()).get(name)?.status.containerStatuses ?? []).entries()) {
        const then = before.containers[name]?.[index];
        if (then === undefined) continue;
        t.match(container, { restartCount: 1, lastState: { terminated: { exitCode: 255 } } }, `${name}: run again`);
        t.not(idOf(container), idOf(then));
      }
    }
    t.comment(`ready again ${((performance.now() - booted) / 1000).toFixed(0)} s after the suite's start`);
    for (const unit of SERVING) t.equal((await tryRun('systemctl', ['is-active', unit])).stdout.trim(), 'active', unit);
    const sandboxes = (await list('pods')).filter(({ state }) => state === 'SANDBOX_READY');
    t.same(new Set(sandboxes.map(podOf)).size, sandboxes.length, 'one ready sandbox a pod');
    const running = (await list('ps')).map((container) => `${podOf(container)}/${container.metadata.name}`);
    t.same(new Set(running).size, running.length, 'one running container a name');
  });

  await t.test('what had ended is not run again', async (t) => {
    const [then] = before.containers[ENDED.name] ?? [];
    const now = await ended(node);
    t.match(now, { restartCount: 0, containerID: then?.containerID, state: { terminated: { exitCode: ENDED.exitCode } } });
  });

  await t.test('addresses are those of the pods', async (t) => {
    const difference = async (): Promise<string> => {
      const pods = [...(await node.pods()).values()].filter(({ status }) => status.phase === 'Running');
      const [is, expected] = [await reserved(), pods.map(({ status }) => status.podIP ?? '').sort()].map(String);
      return is === expected ? '' : `reserved: ${is}; the pods have ${expected}`;
    };
    const last = await eventually(async () => {
      const found = await difference();
      if (found !== '') throw new Error(found);
      return found;
    }, 60_000, 1_000).catch(String);
    t.equal(last, '');
  });

  await t.test('criquet audit finds nothing without an owner', async (t) => {
    await eventually(async () => {
      const { code, stdout } = await tryRun('criquet', ['audit', '--json']);
      if (code !== 0) throw new Error(`exit code ${code}: ${stdout}`);
    }, 30_000);
    t.pass();
  });

  await t.test('the clock is set back by an hour', (t) => clockSetBack(t, node));

  await t.test('nothing is left of pods that are removed', async (t) => {
    for (const name of [...LASTING, ENDED.name]) await node.remove(name);
    await eventually(async () => {
      const left = (await list('pods')).filter(({ state }) => state === 'SANDBOX_READY');
      if (left.length > 0) throw new Error(`still there: ${left.map(podOf).join(', ')}`);
    }, 120_000);
    await run('systemctl', ['stop', 'kubelet.service']);
    await crictl(CRIQUET_ENDPOINT, 'rmp', '--all', '--force');
    const words = async (program: string, ...args: string[]): Promise<string[]> => (await run(program, args)).split('\n').filter((line) => line !== '');
    t.strictSame(await words('ctr', '-n', 'k8s.io', 'containers', 'list', '--quiet'), []);
    t.strictSame(await words('ctr', '-n', 'k8s.io', 'leases', 'list', '--quiet'), []);
    t.strictSame((await words('ctr', '-n', 'k8s.io', 'snapshots', 'list')).slice(1).filter((line) => !line.trim().endsWith('Committed')), []);
    t.strictSame(await reserved(), []);
    t.strictSame(await readdir('/run/criquet/netns').catch(() => []), []);
    t.strictSame(await readdir('/run/criquet/io').catch(() => []), []);
    t.match(await tryRun('criquet', ['audit']), { code: 0 });
  });
}

/** Addresses that host-local holds, one file each. It does not sync them: those that the power cut left empty are criquet's to take away. */
async function reserved(): Promise<string[]> {
  return (await readdir(RESERVATIONS).catch((): string[] => [])).filter((name) => isIP(name) !== 0).sort();
}

/** A node without a clock of its own starts with a wrong one, and somebody sets it right: what is measured in time goes on. */
async function clockSetBack(t: Test, node: SystemdKubelet): Promise<void> {
  const hour = 3_600_000;
  await node.apply('stubborn', { ...QUICK, containers: [{ name: 'main', image: BUSYBOX, command: script('trap "" TERM; while :; do sleep 1; done') }] });
  await node.ready('stubborn', CRIQUET_ENDPOINT);
  const [web] = (await node.pods()).get('web')?.status.containerStatuses ?? [];
  const webId = web === undefined ? '' : idOf(web);
  const stubborn = await crictl(CRIQUET_ENDPOINT, 'ps', '--quiet', '--no-trunc', '--label', 'io.kubernetes.pod.name=stubborn-guest');
  const then = Date.now();
  await run('date', ['--set', `@${Math.floor((then - hour) / 1000)}`]);
  try {
    t.ok(Date.now() < then - hour / 2, 'it is earlier now');
    t.equal((await crictl(CRIQUET_ENDPOINT, 'exec', '--sync', webId, 'echo', 'here')).trim(), 'here', 'a command runs');
    const slow = await tryRun('crictl', ['--runtime-endpoint', CRIQUET_ENDPOINT, 'exec', '--sync', '--timeout', '2', webId, 'sleep', '600'], { timeoutMs: 60_000 });
    t.not(slow.code, 0, 'and is ended in time');

    const began = performance.now();
    await crictl(CRIQUET_ENDPOINT, 'stop', '--timeout', '2', stubborn.trim());
    const took = performance.now() - began;
    t.ok(took >= 2_000 && took < patience(10_000), `a stop of 2 s took ${(took / 1000).toFixed(1)} s`);
    const { status } = JSON.parse(await crictl(CRIQUET_ENDPOINT, 'inspect', '--output', 'json', stubborn.trim())) as { status: { exitCode: number; startedAt: string; finishedAt: string } };
    t.equal(status.exitCode, 137);
    t.ok(Date.parse(status.finishedAt) >= Date.parse(status.startedAt), `it ended after it began: ${status.startedAt}, ${status.finishedAt}`);

    await node.apply('later', { ...QUICK, containers: [{ name: 'main', image: BUSYBOX, command: script(STAY) }] });
    await node.ready('later', CRIQUET_ENDPOINT);
    await node.ready('web', CRIQUET_ENDPOINT);
    t.match((await node.pods()).get('web')?.status.containerStatuses, [{ containerID: web?.containerID, restartCount: web?.restartCount }], 'pods go on');
    const stats = JSON.parse(await crictl(CRIQUET_ENDPOINT, 'stats', '--output', 'json', webId)) as { stats: { cpu: { usageNanoCores?: { value: string } } }[] };
    t.ok(stats.stats.every(({ cpu }) => Number(cpu.usageNanoCores?.value ?? 0) >= 0), 'no rate is negative');
  } finally {
    await run('date', ['--set', `@${Math.floor((Date.now() + hour) / 1000)}`]);
  }
  for (const name of ['stubborn', 'later']) await node.remove(name);
}
