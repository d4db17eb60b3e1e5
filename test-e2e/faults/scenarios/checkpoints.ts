import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerConfig, DeepPartial } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import { eventually } from '../../harness/eventually.js';
import type { TestNode } from '../../harness/node.js';
import { CALL, TestContainer, TestPod } from '../../harness/pods.js';
import { placesOf } from '../places.js';
import type { DoomedCall, Scenario } from '../scenario.js';
import { dieAt, startOf } from './dying-daemon.js';
import { LASTING } from './configs.js';

let names = 0;

/** A directory of a test's own. */
async function directory(node: TestNode): Promise<string> {
  const path = join(node.directory, 'checkpoints', String(++names));
  await mkdir(path, { recursive: true });
  return path;
}

const config = (name: string): DeepPartial<ContainerConfig> => ({ metadata: { name, attempt: 0 }, command: LASTING });

/** Archives of one container and of one pod, made once for a node. */
interface Archives {
  readonly container: string;
  readonly pod: string;
  readonly podConfig: TestPod['config'];
  readonly containerConfig: TestContainer['config'];
}
const made = new WeakMap<TestNode, Promise<Archives>>();

function archives(node: TestNode): Promise<Archives> {
  let making = made.get(node);
  if (making === undefined) made.set(node, (making = makeArchives(node)));
  return making;
}

async function makeArchives(node: TestNode): Promise<Archives> {
  const outputPath = await directory(node);
  const pod = await TestPod.run(node);
  const container = await pod.start(config('checkpointed'));
  const location = join(await directory(node), 'container.tar');
  await node.cri.runtime.checkpointContainer({ containerId: container.id, location, timeout: 0n }, CALL);
  await node.cri.runtime.checkpointPod({ podSandboxId: pod.id, outputPath, containerIds: [container.id], options: {} }, CALL);
  await pod.remove();
  return { container: location, pod: outputPath, podConfig: pod.config, containerConfig: container.config };
}

/** Running containers and where each is checkpointed to. */
async function checkpoints(node: TestNode, count: number): Promise<{ calls: DoomedCall[]; end: () => Promise<void> }> {
  const pod = await TestPod.run(node);
  const into = await directory(node);
  const all = await Promise.all(Array.from({ length: count }, (_, index) => pod.start(config(`checkpointed-${index}`))));
  const calls = all.map((container, index) => {
    const request = { containerId: container.id, location: join(into, `${index}.tar`), timeout: 0n };
    const call = () => node.cri.runtime.checkpointContainer(request, CALL);
    return { call, again: call };
  });
  return { calls, end: () => removeWhole(into) };
}

/** Removes a directory of archives, once nothing but whole ones is in it. */
async function removeWhole(path: string): Promise<void> {
  await eventually(async () => {
    const unfinished = (await readdir(path)).filter((name) => name.startsWith('.'));
    if (unfinished.length > 0) throw new Error(`${path}: ${unfinished.join(', ')}`);
  });
  await rm(path, { recursive: true });
}

async function restores(node: TestNode, count: number): Promise<DoomedCall[]> {
  const { container: image } = await archives(node);
  const pod = await TestPod.run(node);
  return Array.from({ length: count }, (_, index) => {
    const call = () => createOf(pod, image, `restored-${index}`);
    return { call, again: call };
  });
}

async function createOf(pod: TestPod, image: string, name: string): Promise<TestContainer> {
  const restored: DeepPartial<ContainerConfig> = { metadata: { name, attempt: 0 }, image: { image }, logPath: `${name}.log` };
  const request = { podSandboxId: pod.id, config: restored, sandboxConfig: pod.config };
  return new TestContainer(pod, (await pod.node.cri.runtime.createContainer(request, CALL)).containerId, restored);
}

async function restoredContainers(node: TestNode, count: number): Promise<TestContainer[]> {
  const { container: image } = await archives(node);
  const pods = await Promise.all(Array.from({ length: count }, () => TestPod.run(node)));
  return Promise.all(pods.map((pod) => createOf(pod, image, 'restored')));
}

async function podRestores(node: TestNode, count: number): Promise<DoomedCall[]> {
  const { pod: checkpointPath, containerConfig } = await archives(node);
  return Array.from({ length: count }, () => {
    const request = { checkpointPath, config: TestPod.config(node), runtimeHandler: '', options: {}, containerConfigs: [containerConfig] };
    const call = () => node.cri.runtime.restorePod(request, CALL);
    return { call, again: call };
  });
}

/** All of them need CRIU. */
export const checkpointScenarios: readonly Scenario[] = [
  {
    name: 'CheckpointContainer',
    places: placesOf('CheckpointContainer', 'steps'),
    provides: ['a checkpoint'],
    prepare: checkpoints,
  },
  {
    name: 'CheckpointPod',
    places: placesOf('CheckpointPod', 'steps'),
    provides: ['a checkpoint'],
    async prepare(node, count) {
      const calls = Array.from({ length: count }, async () => {
        const pod = await TestPod.run(node);
        const container = await pod.start(config('checkpointed'));
        const outputPath = await directory(node);
        const call = () => node.cri.runtime.checkpointPod({ podSandboxId: pod.id, outputPath, containerIds: [container.id], options: {} }, CALL);
        return {
          call,
          // What is not whole is removed beside the start of the daemon; a whole one is in the way, and stays.
          again: async () => {
            await eventually(() => call().catch(async (error: unknown) => {
              if (!(await readdir(outputPath)).includes('pod.options')) throw error;
              return undefined;
            }));
            await rm(outputPath, { recursive: true });
          },
        };
      });
      return { calls: await Promise.all(calls) };
    },
  },
  {
    name: 'CreateContainer of a checkpoint',
    places: ['CreateContainer/read the checkpoint', 'CreateContainer/bring back the checkpoint'],
    provides: ['a checkpoint'],
    prepare: async (node, count) => ({ calls: await restores(node, count) }),
  },
  {
    name: 'CreateContainer of a checkpoint that fails',
    places: ['CreateContainer/undo: remove the checkpoint'],
    provides: ['a checkpoint'],
    prepare: async (node, count) => ({ calls: await restores(node, count), failing: [{ place: 'CreateContainer/write the spec', moment: 'after' }] }),
  },
  {
    name: 'StartContainer of a checkpoint that fails',
    places: ['StartContainer/undo: end the restore'],
    provides: ['a checkpoint'],
    async prepare(node, count) {
      const all = await restoredContainers(node, count);
      return {
        calls: all.map(({ id }) => ({ call: () => node.cri.runtime.startContainer({ containerId: id }, CALL), again: () => Promise.resolve() })),
        failing: [{ place: 'StartContainer/start the task', action: { do: 'fail', code: status.INTERNAL, message: 'failpoint' } }],
      };
    },
  },
  {
    name: 'RemoveContainer of a checkpoint',
    places: ['RemoveContainer/end the restore', 'RemoveContainer/remove the checkpoint'],
    provides: ['a checkpoint'],
    async prepare(node, count) {
      const all = await restoredContainers(node, count);
      return { calls: all.map((container) => ({ call: () => container.remove(), again: () => container.remove() })) };
    },
  },
  {
    name: 'RestorePod',
    places: placesOf('RestorePod', 'steps'),
    provides: ['a checkpoint'],
    prepare: async (node, count) => ({ calls: await podRestores(node, count) }),
  },
  {
    name: 'RestorePod that fails',
    places: placesOf('RestorePod', 'undo'),
    provides: ['a checkpoint'],
    prepare: async (node, count) => ({ calls: await podRestores(node, count), failing: [{ place: 'RestorePod/record that it is restored', moment: 'after' }] }),
  },
  {
    name: 'a start that finds half a checkpoint',
    places: ['Recovery/end the checkpoint'],
    provides: ['a checkpoint'],
    async prepare(node, count) {
      const { calls, end } = await checkpoints(node, count);
      await dieAt(
        node,
        calls.map(() => ({ place: 'CheckpointContainer/dump the processes', moment: 'after' })),
        () => calls.map(({ call }) => call()),
      );
      return { calls: [startOf(node, () => Promise.all(calls.map(({ again }) => again())))], end };
    },
  },
];
