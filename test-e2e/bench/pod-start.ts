/*
 * Pod start of criquet against containerd's own CRI plugin: the same client, the same containerd binary, runc, CNI plugins
 * and image, one pod at a time, alternating between the two so that what else happens on the machine meets both.
 *   node test-e2e/dist/bench/pod-start.js [--engine 2.1|2.4] [--rounds N] [--json FILE]
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { countOf, oneOf, readCommandLine } from '../harness/command-line.js';
import { TestNode, type Runtime } from '../harness/node.js';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';
import { openDescriptors, residentBytes } from './resident-memory.js';
import { median, quantile } from './statistics.js';

const RUNTIMES: readonly Runtime[] = ['criquet', 'containerd'];
const MEASURES = ['RunPodSandbox', 'CreateContainer', 'StartContainer', 'pod start', 'ExecSync', 'StopPodSandbox', 'RemovePodSandbox'] as const;
type Measure = (typeof MEASURES)[number];
type Samples = Record<Measure, number[]>;

/** How many pods stand while memory is read: the number. */
const STANDING_PODS = 10;

const { engine, rounds, json } = readCommandLine(import.meta.filename, () => {
  const { values } = parseArgs({
    options: { engine: { type: 'string', default: '2.4' }, rounds: { type: 'string', default: '40' }, json: { type: 'string' } },
  });
  return { engine: oneOf('--engine', values.engine, ['2.1', '2.4']), rounds: countOf('--rounds', values.rounds), json: values.json };
});

const nodes = new Map<Runtime, TestNode>();
try {
  for (const runtime of RUNTIMES) nodes.set(runtime, await TestNode.start({ engine, runtime, logLevel: 'info' }));
  for (const node of nodes.values()) await node.cri.image.pullImage({ image: { image: BUSYBOX } }, CALL);

  const samples = new Map<Runtime, Samples>(RUNTIMES.map((runtime) => [runtime, emptySamples()]));
  // The first rounds warm both up and are not counted.
  for (let round = -3; round < rounds; round++) {
    for (const runtime of round % 2 === 0 ? RUNTIMES : [...RUNTIMES].reverse()) {
      const node = nodes.get(runtime);
      const into = round < 0 ? emptySamples() : samples.get(runtime);
      if (node !== undefined && into !== undefined) await onePod(node, into);
    }
  }
  const memory = new Map<Runtime, Memory>();
  for (const [runtime, node] of nodes) memory.set(runtime, await memoryOfStandingPods(node));

  const report = summarise(samples, memory);
  console.log(report);
  if (json !== undefined) {
    const raw = { engine, rounds, samples: Object.fromEntries(samples), memory: Object.fromEntries(memory) };
    await writeFile(json, `${JSON.stringify(raw, null, 2)}\n`);
  }
} finally {
  for (const node of nodes.values()) await node.dispose();
}

function emptySamples(): Samples {
  return Object.fromEntries(MEASURES.map((measure) => [measure, []])) as unknown as Samples;
}

async function onePod(node: TestNode, into: Samples): Promise<void> {
  const { runtime } = node.cri;
  const timed = async <T>(measure: Measure, call: () => Promise<T>): Promise<T> => {
    const started = performance.now();
    const result = await call();
    into[measure].push(performance.now() - started);
    return result;
  };
  const config = TestPod.config(node);
  const started = performance.now();
  const { podSandboxId } = await timed('RunPodSandbox', () => runtime.runPodSandbox({ config }, CALL));
  const { containerId } = await timed('CreateContainer', () =>
    runtime.createContainer(
      {
        podSandboxId,
        config: { metadata: { name: 'main' }, image: { image: BUSYBOX }, command: ['sleep', '3600'], logPath: 'main.log' },
        sandboxConfig: config,
      },
      CALL,
    ),
  );
  await timed('StartContainer', () => runtime.startContainer({ containerId }, CALL));
  into['pod start'].push(performance.now() - started);
  await timed('ExecSync', () => runtime.execSync({ containerId, cmd: ['true'], timeout: 10n }, CALL));
  // The container ignores nothing: stopping it by SIGKILL at once measures the runtime, not a grace period.
  await runtime.stopContainer({ containerId, timeout: 0n }, CALL);
  await timed('StopPodSandbox', () => runtime.stopPodSandbox({ podSandboxId }, CALL));
  await timed('RemovePodSandbox', () => runtime.removePodSandbox({ podSandboxId }, CALL));
}

interface Memory {
  readonly pods: number;
  readonly residentBytes: number;
  readonly descriptors: number;
}

/** Memory of the process that serves CRI with pods of one container each; containerd's plugin is a part of containerd. */
async function memoryOfStandingPods(node: TestNode): Promise<Memory> {
  const pods = await Promise.all(Array.from({ length: STANDING_PODS }, () => TestPod.run(node)));
  for (const pod of pods) await pod.start();
  const pid = node.runtimePid;
  if (pid === undefined) throw new Error('the runtime does not run');
  const memory = { pods: pods.length, residentBytes: await residentBytes(pid), descriptors: await openDescriptors(pid) };
  for (const pod of pods) await pod.remove();
  return memory;
}

function summarise(samples: ReadonlyMap<Runtime, Samples>, memory: ReadonlyMap<Runtime, Memory>): string {
  const of = (runtime: Runtime, measure: Measure): number[] => samples.get(runtime)?.[measure] ?? [];
  const rows = MEASURES.map((measure) => {
    const [criquet, plugin] = [of('criquet', measure), of('containerd', measure)];
    const cell = (times: number[]) => `${median(times).toFixed(1)} (${quantile(times, 0.95).toFixed(1)})`.padStart(16);
    return `${measure.padEnd(18)}${cell(criquet)}${cell(plugin)}${(median(criquet) / median(plugin)).toFixed(2).padStart(8)}`;
  });
  const footprint = RUNTIMES.map((runtime) => {
    const { pods, residentBytes: bytes, descriptors } = memory.get(runtime) ?? { pods: 0, residentBytes: 0, descriptors: 0 };
    const what = runtime === 'criquet' ? 'criquet' : 'containerd with its plugin';
    return `${what}: ${(bytes / 1024 / 1024).toFixed(0)} MiB resident, ${descriptors} descriptors with ${pods} pods`;
  });
  return [
    `containerd ${engine}, ${rounds} pods each, alternating; milliseconds: median (95 % below)`,
    `${''.padEnd(18)}${'criquet'.padStart(16)}${"CRI plugin".padStart(16)}${'ratio'.padStart(8)}`,
    ...rows,
    ...footprint,
  ].join('\n');
}
