import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ContainerState, type ContainerConfig, type DeepPartial } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import type { TestNode } from '../../harness/node.js';
import { CALL, TestPod, type TestContainer } from '../../harness/pods.js';
import { eventually } from '../../harness/eventually.js';
import { armFailures } from '../arm.js';
import { placesOf } from '../places.js';
import type { DoomedCall, FailingStep, Prepared, Scenario } from '../scenario.js';
import { LASTING, onNodeNetwork, STUBBORN, volumesContainer, withOwnUser } from './configs.js';

let users = 0;
let flags = 0;

async function creations(node: TestNode, count: number): Promise<DoomedCall[]> {
  const pod = await TestPod.run(node, onNodeNetwork(node));
  return Array.from({ length: count }, (_, index) => {
    const config = volumesContainer(LASTING, { metadata: { name: `created-${index}`, attempt: 0 }, ...withOwnUser(++users) });
    const create = () => pod.create(config);
    return {
      call: create,
      again: async () => {
        const container = await create();
        await node.cri.runtime.startContainer({ containerId: container.id }, CALL);
      },
    };
  });
}

/** Everything is there, also in the record. */
const FAILS_AT_THE_END: FailingStep = { place: 'CreateContainer/write the spec', moment: 'after' };

/** And the first of it cannot be undone. */
const NOT_UNDONE: readonly FailingStep[] = [
  FAILS_AT_THE_END,
  { place: 'CreateContainer/undo: remove the volumes of the image' },
];
const NOT_OWED: FailingStep = { place: 'OwedContainerRemoval/end the restore' };

async function containers(node: TestNode, count: number, config: DeepPartial<ContainerConfig>, make: 'create' | 'start'): Promise<TestContainer[]> {
  const pod = await TestPod.run(node, onNodeNetwork(node));
  return Promise.all(Array.from({ length: count }, () => pod[make](config)));
}

/** Starts it unless that was done; then it runs. */
async function startAgain(container: TestContainer): Promise<void> {
  const { state } = await container.status();
  if (state === ContainerState.CONTAINER_CREATED) await container.pod.node.cri.runtime.startContainer({ containerId: container.id }, CALL);
  const after = await container.status();
  if (after.state !== ContainerState.CONTAINER_RUNNING) throw new Error(`container ${container.id} does not run: ${after.reason} ${after.exitCode}`);
}

/** Before its shell has said so, it would still end on TERM. */
async function expectDeaf(container: TestContainer): Promise<void> {
  if ((await container.log()).length === 0) throw new Error(`container ${container.id} has not come to its trap`);
}

/** Rejects when one has exited and not with this code. */
async function expectTrueExits(all: readonly TestContainer[], code: number): Promise<void> {
  for (const container of all) {
    const { state, exitCode } = await container.status();
    if (state === ContainerState.CONTAINER_EXITED && exitCode !== code) throw new Error(`container ${container.id}: exit code ${exitCode}, not ${code}`);
  }
}

/** Containers that end by themselves, all at once, with the exit code 5. */
async function endingContainers(node: TestNode, count: number): Promise<Prepared> {
  const flag = `end-${++flags}`;
  const all = await containers(
    node,
    count,
    { command: ['sh', '-c', `until [ -e /flags/${flag} ]; do sleep 0.05; done; exit 5`], mounts: [{ hostPath: node.directory, containerPath: '/flags', readonly: true }] },
    'start',
  );
  const exited = () => Promise.all(all.map(async (container) => {
    const { exitCode } = await container.exit();
    if (exitCode !== 5) throw new Error(`container ${container.id}: exit code ${exitCode}, not 5`);
  }));
  return {
    calls: [{ call: () => writeFile(join(node.directory, flag), ''), again: exited }],
    check: async () => void (await exited()),
  };
}

export const containerScenarios: readonly Scenario[] = [
  {
    name: 'CreateContainer',
    places: placesOf('CreateContainer', 'steps', ['a checkpoint']),
    provides: ['volumes'],
    prepare: async (node, count) => ({ calls: await creations(node, count) }),
  },
  {
    name: 'CreateContainer that fails',
    places: placesOf('CreateContainer', 'undo', ['a checkpoint']),
    provides: ['volumes'],
    prepare: async (node, count) => ({ calls: await creations(node, count), failing: [FAILS_AT_THE_END] }),
  },
  {
    name: 'CreateContainer after one that could not be undone',
    places: placesOf('CreateContainer', 'earlier'),
    provides: ['volumes'],
    async prepare(node, count) {
      const calls = await creations(node, count);
      armFailures(node, [...NOT_UNDONE, NOT_OWED]);
      await Promise.all(calls.map(({ call }) => call().catch(() => undefined)));
      return { calls, failing: [NOT_OWED] };
    },
  },
  {
    name: 'the removal that a failed CreateContainer owes',
    places: placesOf('OwedContainerRemoval', 'steps'),
    provides: ['volumes'],
    prepare: async (node, count) => ({ calls: await creations(node, count), failing: NOT_UNDONE }),
  },
  {
    name: 'StartContainer',
    places: placesOf('StartContainer', 'steps').filter((place) => place !== 'StartContainer/record the start error'),
    async prepare(node, count) {
      const all = await containers(node, count, { command: LASTING }, 'create');
      return {
        calls: all.map((container) => ({
          call: () => node.cri.runtime.startContainer({ containerId: container.id }, CALL),
          again: () => startAgain(container),
        })),
      };
    },
  },
  {
    name: 'StartContainer that fails',
    places: [...placesOf('StartContainer', 'undo'), 'StartContainer/record the start error'],
    async prepare(node, count) {
      const all = await containers(node, count, { command: LASTING }, 'create');
      return {
        calls: all.map((container) => ({
          call: () => node.cri.runtime.startContainer({ containerId: container.id }, CALL),
          again: async () => {
            const { state, reason } = await container.status();
            if (state !== ContainerState.CONTAINER_EXITED) await startAgain(container);
            else if (reason !== 'StartError' && reason !== 'Error') throw new Error(`container ${container.id}: ${reason}`);
          },
        })),
        failing: [{ place: 'StartContainer/start the task', moment: 'after', action: { do: 'fail', code: status.INTERNAL, message: 'failpoint' } }],
      };
    },
  },
  {
    name: 'StopContainer',
    places: placesOf('StopContainer', 'steps'),
    async prepare(node, count) {
      const all = await containers(node, count, { command: STUBBORN }, 'start');
      await Promise.all(all.map((container) => eventually(() => expectDeaf(container))));
      return {
        calls: all.map((container) => ({ call: () => container.stop(1n), again: () => container.stop(1n) })),
        check: () => expectTrueExits(all, 137),
      };
    },
  },
  {
    name: 'RemoveContainer',
    places: placesOf('RemoveContainer', 'steps'),
    provides: ['volumes'],
    async prepare(node, count) {
      const all = await containers(node, count, volumesContainer(LASTING), 'start');
      return { calls: all.map((container) => ({ call: () => container.remove(), again: () => container.remove() })) };
    },
  },
  {
    name: 'the exit of a container',
    places: placesOf('ContainerExit', 'steps'),
    prepare: endingContainers,
  },
];
