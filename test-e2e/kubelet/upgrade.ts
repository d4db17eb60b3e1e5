import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readForm } from '../faults/form.js';
import { Random } from '../faults/random.js';
import { patience } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { assertOneOfEach } from './census.js';
import { Churn } from './churn.js';
import { pod, shell, STAY } from './manifest.js';
import { conditionOf, containerOf, type Pod } from './pod-status.js';
import { parseMetrics } from './prometheus.js';
import { Releases } from './releases.js';
import { onCriquet } from './side-by-side.js';
import type { Side } from './side.js';
import { writtenLines } from './written-lines.js';

const form = readForm();
const SEED = form.seed;
const UPGRADES = form.whole ? 30 : 5;
const WORKERS = 2;

const NUMBERS = 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done';
/** Two in a row may fail; the third restarts the container or takes its readiness. */
const each = { periodSeconds: 1, failureThreshold: 3, timeoutSeconds: 10 };
const onPort = { port: 8080 };
const web = `mkdir /www; echo page >/www/index.html; httpd -p 8080 -h /www; ${STAY}`;

/** Pods that are there all the time. */
const steady = [
  pod('asked-by-exec', { containers: [shell('main', STAY, { livenessProbe: { exec: { command: ['true'] }, ...each }, readinessProbe: { exec: { command: ['true'] }, ...each } })] }),
  pod('asked-by-http', { containers: [shell('main', web, { livenessProbe: { httpGet: { ...onPort, path: '/index.html' }, ...each }, readinessProbe: { tcpSocket: onPort, ...each } })] }),
  pod('on-host', { hostNetwork: true, containers: [shell('main', STAY)] }),
  pod('two', { containers: [shell('main', STAY), shell('other', STAY)] }),
  pod('writes', { containers: [shell('main', NUMBERS)] }),
];

// criquet is replaced by another release, again and again, while a kubelet probes pods, starts some and ends others.
await onCriquet(
  async (t, side) => {
    const { node } = side.machine;
    const { criquet } = node;
    if (criquet === undefined) throw new Error('no criquet');
    const releases = await Releases.make(node.environment, join(side.machine.directory, 'opt'));
    const random = new Random(SEED);
    await side.apply(...steady);
    const before = new Map<string, Pod>();
    for (const { metadata } of steady) before.set(metadata.name, await side.ready(metadata.name));

    const churn = new Churn(side, SEED);
    const churning = churn.run(WORKERS);
    // Should it fail, that is told of below.
    churning.catch(() => undefined);
    const away: number[] = [];
    for (let turn = 0; turn < UPGRADES; turn++) {
      const version = releases.versions[turn % releases.versions.length] ?? '';
      await pause(patience(random.between(500, 4_000)));
      await releases.put(version);
      const began = Date.now();
      t.strictSame(await criquet.stop(), { code: 0, signal: null }, 'the one before ends in order');
      await criquet.start({ program: releases.program });
      node.reconnect();
      away.push(Date.now() - began);
      await eventually(async () => {
        const { runtimeVersion } = await node.cri.runtime.version({});
        if (runtimeVersion !== version) throw new Error(`${runtimeVersion} serves, not ${version}`);
      });
    }
    churn.end();
    await churning;

    for (const { metadata, spec } of steady) await goesOn(side, metadata.name, spec.containers.map(({ name }) => name));
    const { lasting, ended, wrong } = churn.result;
    t.strictSame(wrong, [], 'pods that came and went meanwhile were started once and have their true exit codes');
    t.ok(lasting + ended >= WORKERS, 'and there were some');
    const written = await writtenLines(side, 'writes', String);
    t.strictSame([written.gaps, written.wrong], [[], []], `${written.lines} lines, each once and in order`);
    await assertOneOfEach(t, side);
    t.comment(
      `covered: ${side.label}: ${UPGRADES} upgrades, criquet away for ${Math.max(...away)} ms at most; ${lasting} pods came and went, ${ended} ended by themselves, ` +
        `${written.lines} lines; ${await probes(side)}; CRIQUET_FAULTS_SEED=${SEED}`,
    );

    /** In the same containers as in the beginning, never restarted and ready all the time. */
    async function goesOn(side: Side, name: string, containers: readonly string[]): Promise<void> {
      const [then, now] = [before.get(name), await side.ready(name)];
      for (const container of containers) {
        t.match(containerOf(now, container), { containerID: containerOf(then ?? now, container).containerID, restartCount: 0 }, `${container} of ${name} goes on`);
      }
      t.equal(readySince(now), readySince(then ?? now), `${name} was ready all the time`);
    }
  },
  { engines: form.whole ? 'all' : 'newest' },
);

function readySince(pod: Pod): string | undefined {
  return conditionOf(pod, 'Ready') === 'True' ? pod.status.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime : undefined;
}

/** What the kubelet counted: `probes: 80 successful, 2 failed`. */
async function probes(side: Side): Promise<string> {
  const rows = parseMetrics((await side.kubelet.get('/metrics/probes')).body.toString()).filter(({ name }) => name === 'prober_probe_total');
  const of = (result: string): number => rows.filter(({ labels }) => labels.result === result).reduce((sum, { value }) => sum + value, 0);
  return `probes: ${of('successful')} successful, ${of('failed')} failed, ${of('unknown')} not carried out`;
}
