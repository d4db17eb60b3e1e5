import { setTimeout as pause } from 'node:timers/promises';
import { ContainerEventType, ContainerState, PodSandboxState } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import t from 'tap';
import { patience } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import type { TestNode } from '../harness/node.js';
import { onEachEngine, type Test } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod, type TestContainer } from '../harness/pods.js';
import { EventLog } from './event-log.js';
import { readForm } from './form.js';
import { Load } from './load.js';
import { Random } from './random.js';
import { onNodeNetwork } from './scenarios/configs.js';
import { shimOf, shimsOf } from './shims.js';

// Shims are killed and stopped while pods come and go. L2, L7 and L10 of the field's cases, under load.

const form = readForm();
const SEED = form.seed;
const ROUNDS = form.whole ? 25 : 2;
/** A container of a killed shim shows that within this time. */
const SEEN_MS = 10_000;
const HUNG_CALL_MS = 3_000;

t.comment(`${ROUNDS} rounds, CRIQUET_FAULTS_SEED=${SEED}`);

interface Victim {
  readonly pod: TestPod;
  readonly containers: readonly [TestContainer, TestContainer];
  readonly shim: number;
}

async function victim(node: TestNode): Promise<Victim> {
  const pod = await TestPod.run(node, onNodeNetwork(node));
  // Both say what they end with on TERM, the second one only after a while.
  const script = (seconds: number) => ['sh', '-c', `trap "sleep ${seconds}; exit 42" TERM; while :; do sleep 0.1; done`];
  const containers = [await pod.start({ command: script(0) }), await pod.start({ command: script(2) })] as const;
  return { pod, containers, shim: await shimOf(node, pod.id) };
}

/** What others have of it: a list and a command, within seconds. */
async function expectUnaffected(t: Test, { cri: { runtime } }: TestNode, bystander: TestContainer): Promise<void> {
  const soon = { timeoutMs: patience(5_000) };
  await Promise.all([runtime.listPodSandbox({}, soon), runtime.listContainers({}, soon), runtime.listContainerStats({}, soon)]);
  t.match(await bystander.exec(['echo', 'here']), { exitCode: 0, stdout: 'here\n' });
}

async function expectEnded(t: Test, { cri: { runtime } }: TestNode, { pod, containers }: Victim, events: EventLog): Promise<void> {
  for (const container of containers) t.match(await container.exit(SEEN_MS), { reason: /^(Error|Unknown)$/ });
  await eventually(async () => {
    const { status } = await runtime.podSandboxStatus({ podSandboxId: pod.id }, CALL);
    if (status?.state !== PodSandboxState.SANDBOX_NOTREADY) throw new Error(`pod ${pod.id} is ready without a shim`);
  }, SEEN_MS);
  for (const id of [pod.id, ...containers.map((container) => container.id)]) {
    await eventually(() => {
      if (!events.has(id, ContainerEventType.CONTAINER_STOPPED_EVENT)) throw new Error(`no event tells that ${id} has ended`);
    });
  }
}

await onEachEngine(
  'shims are killed and stopped under load',
  async (t, node) => {
    const { runtime } = node.cri;
    const random = new Random(SEED);
    await node.cri.image.pullImage({ image: { image: BUSYBOX } }, CALL);
    const clean = await node.state();
    const events = EventLog.of(runtime);
    const standing = await TestPod.run(node, onNodeNetwork(node));
    const bystander = await standing.start();
    const load = new Load(node, new Random(SEED + 1));
    const loaded = load.run(3);
    // A load that fails is told of below.
    loaded.catch(() => undefined);
    const counts = { killed: 0, killedInStop: 0, stopped: 0, paused: 0 };

    for (let round = 1; round <= ROUNDS; round++) {
      await t.test(`round ${round}`, async (t) => {
        const [killed, stopping, hung] = await Promise.all([victim(node), victim(node), victim(node)]);

        // L2
        process.kill(killed.shim, 'SIGKILL');
        await expectEnded(t, node, killed, events);
        counts.killed += 1;

        // L10: the shim goes between the signal and the end.
        const slow = stopping.containers[1];
        const stop = runtime.stopContainer({ containerId: slow.id, timeout: 30n }, CALL);
        stop.catch(() => undefined);
        await pause(patience(random.between(100, 800)));
        process.kill(stopping.shim, 'SIGKILL');
        const began = Date.now();
        await stop;
        t.ok(Date.now() - began < patience(SEEN_MS), `the stop ends ${Date.now() - began} ms after its shim`);
        await expectEnded(t, node, stopping, events);
        counts.killedInStop += 1;

        // L7, and some of the load's own shims with it, for less than they have patience.
        const [first] = hung.containers;
        process.kill(hung.shim, 'SIGSTOP');
        try {
          const late = runtime.stopContainer({ containerId: first.id, timeout: 0n }, { timeoutMs: patience(HUNG_CALL_MS) });
          await Promise.all([expectUnaffected(t, node, bystander), t.rejects(late, { code: code.DEADLINE_EXCEEDED })]);
          t.match(await first.status(), { state: ContainerState.CONTAINER_RUNNING });
          counts.paused += await pauseSome(node, random, [hung.pod.id, standing.id]);
        } finally {
          process.kill(hung.shim, 'SIGCONT');
        }
        await eventually(() => first.stop(), 20_000, 500);
        t.match(await first.exit(), { exitCode: 137 }, 'killed when its shim goes on');
        await hung.containers[1].stop(10n);
        t.match(await hung.containers[1].exit(), { exitCode: 42 });
        counts.stopped += 1;

        await Promise.all([killed, stopping, hung].map(({ pod }) => pod.remove()));
      });
    }
    load.end();
    await loaded;
    events.close();
    const { pods, calls, trueExits, wrong } = load.result;
    t.comment(`covered: ${counts.killed} killed, ${counts.killedInStop} killed during a stop, ${counts.stopped} hung, ${counts.paused} of the load stopped for a moment; ${pods} pods, ${calls} calls, ${trueExits} exit codes of the load`);
    t.strictSame(wrong, [], 'every exit code of the load is true');
    await standing.remove();
    t.strictSame((await runtime.listPodSandbox({}, CALL)).items, [], 'every pod was removed');
    t.strictSame(await node.leaksSince(clean, 15_000), [], 'nothing is left');
  },
  { only: 'criquet', ...(form.whole ? {} : { engines: 'newest' }) },
);

/** Stops some shims and lets them go on a second later. @returns how many */
async function pauseSome(node: TestNode, random: Random, but: readonly string[]): Promise<number> {
  const chosen = [...(await shimsOf(node))].filter(([id]) => !but.includes(id) && random.happens(0.5)).map(([, pid]) => pid);
  const signalled = chosen.filter((pid) => tell(pid, 'SIGSTOP'));
  await pause(patience(1_000));
  signalled.forEach((pid) => tell(pid, 'SIGCONT'));
  return signalled.length;
}

/** @returns false where it has ended meanwhile */
function tell(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
