import { setTimeout as pause } from 'node:timers/promises';
import { atMost, type Figure, type Measure, type Sampled } from '../figure.js';
import { inBatches } from '../in-batches.js';
import { Pod } from '../pod.js';
import type { Scale } from '../scale.js';
import type { Side } from '../side.js';
import { median } from '../statistics.js';

const READINGS = 5;
const CHURNED_PODS = 500;
const AT_ONCE = 10;

export const memory: Figure = {
  name: 'memory',
  title: 'Memory',
  about: `Resident memory (VmRSS, 1 MB = 1,000,000 bytes) of the daemon that serves CRI, ten seconds after the last call, the median of five readings a second apart: after a start; with 100 standing
pods that it started itself; after a start and 500 pods that came and went ten at a time. containerd's plugin is a part of containerd, criquet needs one beside it: *with containerd* is the sum.`,
  restartsDaemon: true,
  measures: [...measures('idle', 'idle', 80), ...measures('100', 'with 100 pods', 110), ...measures('500', 'after 500 pods', 110)],
  stages: [
    {
      scene: 0,
      rounds: 3,
      warmUps: 0,
      fixedRounds: true,
      begin: async (side, scale) => ({
        async sample() {
          await side.restart();
          return read(side, scale, 'idle');
        },
      }),
    },
    {
      scene: 100,
      rounds: 1,
      warmUps: 0,
      fixedRounds: true,
      begin: async (side, scale) => ({ sample: () => read(side, scale, '100') }),
    },
    {
      scene: 'emptied',
      rounds: 1,
      warmUps: 0,
      fixedRounds: true,
      begin: async (side, scale) => ({
        async sample() {
          await inBatches(Math.max(0, scale.pick(CHURNED_PODS, AT_ONCE) - side.podsRun), AT_ONCE, async () => {
            const pod = await Pod.start(side);
            await pod.remove();
          });
          return read(side, scale, '500');
        },
      }),
    },
  ],
};

function measures(name: string, when: string, limit: number): Measure[] {
  return [
    { name: `memory-${name}`, title: `memory ${when}`, unit: 'MB', better: 'less', target: atMost(limit, 'value') },
    { name: `memory-${name}-with-containerd`, title: '· with containerd', unit: 'MB', better: 'less' },
  ];
}

async function read(side: Side, scale: Scale, name: string): Promise<Sampled> {
  await pause(scale.pick(10_000, 200));
  const readings: { own: number; withContainerd: number }[] = [];
  for (let reading = 0; reading < scale.pick(READINGS, 1); reading++) {
    if (reading > 0) await pause(1_000);
    readings.push(await side.memory());
  }
  return {
    [`memory-${name}`]: median(readings.map(({ own }) => own)) / 1e6,
    [`memory-${name}-with-containerd`]: median(readings.map(({ withContainerd }) => withContainerd)) / 1e6,
  };
}
