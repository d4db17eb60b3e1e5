import { atMost, type Figure, type Scene, type Stage } from '../figure.js';
import { Pod } from '../pod.js';

export const growth: Figure = {
  name: 'growth',
  title: 'Growth with what is there',
  about: `Pod start, one at a time, while 5 and while 200 other pods stand. The quotient is that of the medians, and the target is one for criquet alone.`,
  measures: [
    { name: 'pod-start-5', title: 'pod start with 5 pods', unit: 'ms', better: 'less' },
    { name: 'pod-start-200', title: 'pod start with 200 pods', unit: 'ms', better: 'less' },
    { name: 'growth', title: 'growth: the one divided by the other', unit: '×', better: 'less', target: atMost(1.15, 'value'), quotient: ['pod-start-200', 'pod-start-5'] },
  ],
  stages: [podStart(5, 'pod-start-5'), podStart(200, 'pod-start-200')],
};

function podStart(scene: Scene, measure: string): Stage {
  return {
    scene,
    rounds: 30,
    warmUps: 3,
    begin: async (side) => ({
      async sample() {
        const pod = await Pod.start(side);
        await pod.remove();
        return { [measure]: pod.took('RunPodSandbox', 'CreateContainer', 'StartContainer') };
      },
    }),
  };
}
