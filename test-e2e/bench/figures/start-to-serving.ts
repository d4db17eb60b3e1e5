import { atMost, type Figure, type Scene, type Stage } from '../figure.js';

export const startToServing: Figure = {
  name: 'start-to-serving',
  title: 'Start to serving',
  about: `Seconds from the moment that the daemon is spawned until it answers Version, with nothing on the node and with 100 pods of one running container each to recover. Of containerd's plugin it is
containerd that is started; criquet finds its containerd running.`,
  restartsDaemon: true,
  measures: [
    { name: 'start-empty', title: 'start to serving, empty', unit: 's', better: 'less', target: atMost(0.3, 'value') },
    { name: 'start-100', title: 'start to serving, 100 pods to recover', unit: 's', better: 'less', target: atMost(1, 'value') },
  ],
  stages: [starts(0, 'start-empty'), starts(100, 'start-100')],
};

function starts(scene: Scene, measure: string): Stage {
  return { scene, rounds: 10, warmUps: 1, begin: async (side) => ({ sample: async () => ({ [measure]: await side.restart() }) }) };
}
