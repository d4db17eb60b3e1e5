import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { TestNode } from '../../harness/node.js';
import { CALL, TestPod, type TestContainer } from '../../harness/pods.js';
import { placesOf } from '../places.js';
import type { Scenario } from '../scenario.js';
import { LASTING, onNodeNetwork } from './configs.js';

const CMD = ['sh', '-c', 'echo out; echo err >&2; exit 3'];

async function runningContainers(node: TestNode, count: number): Promise<TestContainer[]> {
  const pod = await TestPod.run(node, onNodeNetwork(node));
  return Promise.all(Array.from({ length: count }, () => pod.start({ command: LASTING })));
}

async function expectCommand(container: TestContainer): Promise<void> {
  const { exitCode, stdout, stderr } = await container.exec(CMD);
  if (exitCode !== 3 || stdout !== 'out\n' || stderr !== 'err\n') throw new Error(`exit code ${exitCode}, ${JSON.stringify([stdout, stderr])}`);
}

const STDOUT = 1;
const ERROR = 3;

/** Runs a command as a streaming client does. @returns what came on each channel until the connection ended */
async function stream(container: TestContainer): Promise<Map<number, string>> {
  const request = { containerId: container.id, cmd: CMD, tty: false, stdin: false, stdout: true, stderr: true };
  const { url } = await container.pod.node.cri.runtime.exec(request, CALL);
  const socket = new WebSocket(url.replace(/^http/, 'ws'), 'v4.channel.k8s.io');
  const channels = new Map<number, string>();
  socket.on('message', (data: Buffer) => {
    const [channel = 0] = data;
    channels.set(channel, (channels.get(channel) ?? '') + data.subarray(1).toString());
  });
  socket.on('error', () => undefined);
  await once(socket, 'close');
  return channels;
}

async function expectStream(container: TestContainer): Promise<void> {
  const channels = await stream(container);
  const exit = channels.get(ERROR) ?? '';
  if (channels.get(STDOUT) !== 'out\n' || !exit.includes('"3"')) throw new Error(JSON.stringify([...channels]));
}

const updated = (container: TestContainer, cpuShares: bigint) =>
  container.pod.node.cri.runtime.updateContainerResources({ containerId: container.id, linux: { cpuShares } }, CALL);

async function updateAgain(container: TestContainer): Promise<void> {
  await updated(container, 512n);
  const { resources } = await container.status();
  if (resources?.linux?.cpuShares !== 512n) throw new Error(`container ${container.id}: ${resources?.linux?.cpuShares} CPU shares`);
}

export const commandScenarios: readonly Scenario[] = [
  {
    name: 'ExecSync',
    places: [...placesOf('ExecSync', 'steps'), ...placesOf('ExecSync', 'undo')],
    async prepare(node, count) {
      const [container] = await runningContainers(node, 1);
      if (container === undefined) throw new Error('no container');
      return { calls: Array.from({ length: count }, () => ({ call: () => container.exec(CMD), again: () => expectCommand(container) })) };
    },
  },
  {
    name: 'Exec',
    places: [...placesOf('Exec', 'steps'), ...placesOf('Exec', 'undo')],
    async prepare(node, count) {
      const [container] = await runningContainers(node, 1);
      if (container === undefined) throw new Error('no container');
      return { calls: Array.from({ length: count }, () => ({ call: () => stream(container), again: () => expectStream(container) })) };
    },
  },
  {
    name: 'UpdateContainerResources',
    places: placesOf('UpdateContainerResources', 'steps'),
    async prepare(node, count) {
      const all = await runningContainers(node, count);
      return { calls: all.map((container) => ({ call: () => updated(container, 512n), again: () => updateAgain(container) })) };
    },
  },
  {
    name: 'UpdateContainerResources that fails',
    places: placesOf('UpdateContainerResources', 'undo'),
    async prepare(node, count) {
      const all = await runningContainers(node, count);
      return {
        calls: all.map((container) => ({ call: () => updated(container, 512n), again: () => updateAgain(container) })),
        failing: [{ place: 'UpdateContainerResources/write the spec and the record', moment: 'after' }],
      };
    },
  },
];
