import { atMost, type Figure } from '../figure.js';
import { inBatches } from '../in-batches.js';
import { Pod } from '../pod.js';
import type { Side } from '../side.js';
import { CALL } from '../../harness/pods.js';

const AT_ONCE = 10;

export const eventLoopDelay: Figure = {
  name: 'event-loop-delay',
  title: 'Event-loop delay under ten concurrent pod starts',
  about: `What criquet itself tells in Status, verbose (\`crictl info\`, \`eventLoopDelay\`): how late its event loop came to what was due, ten times a second, while 80 pods are started, ten
at a time. A sample is the percentile of one such period. containerd's plugin has no event loop.`,
  measures: [
    { name: 'event-loop-delay', title: 'event-loop delay, 99 % below, ten pod starts at a time', unit: 'ms', better: 'less', target: atMost(20, 'value') },
    { name: 'event-loop-delay-p50', title: '· 50 % below', unit: 'ms', better: 'less' },
    { name: 'event-loop-delay-max', title: '· most', unit: 'ms', better: 'less' },
  ],
  stages: [
    {
      scene: 'emptied',
      rounds: 3,
      warmUps: 0,
      fixedRounds: true,
      runtimes: ['criquet'],
      begin: async (side, scale) => ({
        async sample() {
          const pods: Pod[] = [];
          await delaysSinceLast(side);
          await inBatches(scale.pick(80, AT_ONCE), AT_ONCE, async () => {
            pods.push(await Pod.start(side));
          });
          const { p50, p99, max } = await delaysSinceLast(side);
          await inBatches(pods.length, AT_ONCE, async () => pods.pop()?.remove());
          return { 'event-loop-delay': p99, 'event-loop-delay-p50': p50, 'event-loop-delay-max': max };
        },
      }),
    },
  ],
};

async function delaysSinceLast(side: Side): Promise<Record<'p50' | 'p99' | 'max', number>> {
  const { info } = await side.node.cri.runtime.status({ verbose: true }, CALL);
  return JSON.parse(info.eventLoopDelay ?? '{}') as Record<'p50' | 'p99' | 'max', number>;
}
