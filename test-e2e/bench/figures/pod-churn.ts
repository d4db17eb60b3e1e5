import { atLeast, type Figure } from '../figure.js';
import { inBatches } from '../in-batches.js';
import { Pod } from '../pod.js';

const AT_ONCE = 10;

export const podChurn: Figure = {
  name: 'pod-churn',
  title: 'Pods started and removed a second, ten at a time',
  about: `Ten callers, each of which starts a pod of one busybox container, stops and removes it, and takes the next one. A sample is 50 pods on one side, then 50 on the other.`,
  measures: [{ name: 'pod-churn', title: 'pods started and removed a second, ten at a time', unit: '1/s', better: 'more', target: atLeast(1.1) }],
  stages: [
    {
      scene: 'emptied',
      rounds: 9,
      warmUps: 1,
      begin: async (side, scale) => ({
        async sample() {
          const pods = scale.pick(50, AT_ONCE);
          const began = performance.now();
          await inBatches(pods, AT_ONCE, async () => {
            const pod = await Pod.start(side);
            await pod.remove();
          });
          return { 'pod-churn': pods / ((performance.now() - began) / 1000) };
        },
      }),
    },
  ],
};
