import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CALL, TestPod, type TestContainer } from '../../harness/pods.js';
import { placesOf, type KillPoint } from '../places.js';
import type { Scenario } from '../scenario.js';
import { dieAt, startOf } from './dying-daemon.js';
import { LASTING, onNodeNetwork, volumesContainer, withOwnUser } from './configs.js';

let users = 50_000;
let flags = 0;

export const recoveryScenarios: readonly Scenario[] = [
  {
    name: 'a start that finds half-made containers',
    places: placesOf('Recovery', 'steps').filter((place) => place !== 'Recovery/end the checkpoint'),
    provides: ['volumes'],
    async prepare(node, count) {
      const pod = await TestPod.run(node, onNodeNetwork(node));
      const half = Array.from({ length: count }, (_, index) => volumesContainer(LASTING, { metadata: { name: `half-${index}`, attempt: 0 }, ...withOwnUser(++users) }));
      await dieAt(
        node,
        half.map(() => ({ place: 'CreateContainer/look up the user', moment: 'after' })),
        () => half.map((config) => pod.create(config)),
      );
      return { calls: [startOf(node)] };
    },
  },
  {
    name: 'a start that finds half-made starts and exits',
    places: ['Recovery/delete the task', 'Recovery/remove the FIFOs'],
    async prepare(node, count) {
      const pod = await TestPod.run(node, onNodeNetwork(node));
      const flag = `recovery-end-${++flags}`;
      const created: TestContainer[] = [];
      const ended: TestContainer[] = [];
      const command = ['sh', '-c', `until [ -e /flags/${flag} ]; do sleep 0.05; done; exit 5`];
      for (let index = 0; index < count; index++) {
        created.push(await pod.create({ command: LASTING }));
        ended.push(await pod.start({ command, mounts: [{ hostPath: node.directory, containerPath: '/flags', readonly: true }] }));
      }
      await dieAt(
        node,
        [
          ...created.map((): KillPoint => ({ place: 'StartContainer/create the task', moment: 'after' })),
          ...ended.map((): KillPoint => ({ place: 'ContainerExit/record the exit', moment: 'after' })),
        ],
        () => [...created.map(({ id }) => node.cri.runtime.startContainer({ containerId: id }, CALL)), writeFile(join(node.directory, flag), '')],
      );
      return {
        calls: [startOf(node, () => Promise.all(created.map(({ id }) => node.cri.runtime.startContainer({ containerId: id }, CALL))))],
        check: async (t) => {
          for (const container of ended) t.match(await container.exit(), { exitCode: 5 }, 'its true exit code');
        },
      };
    },
  },
];
