import { setTimeout as pause } from 'node:timers/promises';
import { atMost, type Figure } from '../figure.js';
import { cpuSeconds } from '../resident-memory.js';

export const idleCpu: Figure = {
  name: 'idle-cpu',
  title: 'CPU when idle',
  about: `CPU of the daemon that serves CRI, in user space and in the kernel, over 20 seconds in which nobody calls it and 100 pods stand; percent of one core. The shims of the pods are not counted.`,
  measures: [{ name: 'idle-cpu', title: 'CPU when idle with 100 pods', unit: '%', better: 'less', target: atMost(1, 'value') }],
  stages: [
    {
      scene: 100,
      rounds: 3,
      warmUps: 0,
      fixedRounds: true,
      begin: async (side, scale) => ({
        async sample() {
          await pause(scale.pick(3_000, 100));
          const [before, began] = [await cpuSeconds(side.pid), performance.now()];
          await pause(scale.pick(20_000, 500));
          const used = (await cpuSeconds(side.pid)) - before;
          return { 'idle-cpu': (100 * used) / ((performance.now() - began) / 1000) };
        },
      }),
    },
  ],
};
