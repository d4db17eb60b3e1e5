import { atMost, type Figure } from '../figure.js';
import { OBEDIENT, Pod } from '../pod.js';

/** Long enough for any container that ends at SIGTERM. */
const GRACE_SECONDS = 30n;

export const podLife: Figure = {
  name: 'pod-life',
  title: 'Pod start and removal, one at a time',
  about: `One pod of one busybox container after the other, with five others standing. *Pod start* is RunPodSandbox, CreateContainer and StartContainer in this order. *Stop and removal* is
StopContainer without grace, StopPodSandbox and RemovePodSandbox: all three, since either side may leave to the next call what it does not do in one. *As the kubelet ends it* is a second
pod: StopContainer of a container that runs and ends at SIGTERM, StopPodSandbox, RemoveContainer, RemovePodSandbox.`,
  measures: [
    { name: 'pod-start', title: 'pod start', unit: 'ms', better: 'less', target: atMost(0.7) },
    { name: 'run-pod-sandbox', title: '· RunPodSandbox', unit: 'ms', better: 'less' },
    { name: 'create-container', title: '· CreateContainer', unit: 'ms', better: 'less' },
    { name: 'start-container', title: '· StartContainer', unit: 'ms', better: 'less' },
    { name: 'pod-removal', title: 'pod stop and removal', unit: 'ms', better: 'less', target: atMost(0.7) },
    { name: 'kill-container', title: '· StopContainer without grace', unit: 'ms', better: 'less' },
    { name: 'stop-pod-sandbox', title: '· StopPodSandbox', unit: 'ms', better: 'less' },
    { name: 'remove-pod-sandbox', title: '· RemovePodSandbox', unit: 'ms', better: 'less' },
    { name: 'pod-end', title: 'a running pod, as the kubelet ends it', unit: 'ms', better: 'less' },
    { name: 'pod-end-stop-container', title: '· StopContainer', unit: 'ms', better: 'less' },
  ],
  stages: [
    {
      scene: 5,
      rounds: 40,
      warmUps: 10,
      begin: async (side) => ({
        async sample() {
          const killed = await Pod.start(side);
          await killed.stopContainer(0n);
          await killed.remove();
          const ended = await Pod.start(side, OBEDIENT);
          await ended.said();
          await ended.stopContainer(GRACE_SECONDS);
          await ended.stopSandbox();
          await ended.removeContainer();
          await ended.removeSandbox();
          return {
            'pod-start': killed.took('RunPodSandbox', 'CreateContainer', 'StartContainer'),
            'run-pod-sandbox': killed.took('RunPodSandbox'),
            'create-container': killed.took('CreateContainer'),
            'start-container': killed.took('StartContainer'),
            'pod-removal': killed.took('StopContainer', 'StopPodSandbox', 'RemovePodSandbox'),
            'kill-container': killed.took('StopContainer'),
            'stop-pod-sandbox': killed.took('StopPodSandbox'),
            'remove-pod-sandbox': killed.took('RemovePodSandbox'),
            'pod-end': ended.took('StopContainer', 'StopPodSandbox', 'RemoveContainer', 'RemovePodSandbox'),
            'pod-end-stop-container': ended.took('StopContainer'),
          };
        },
      }),
    },
  ],
};
