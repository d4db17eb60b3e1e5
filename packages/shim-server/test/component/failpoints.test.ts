import { status } from '@grpc/grpc-js';
import { CriCallError } from '@criquet/cri-api';
import { test } from 'tap';
import { Shim } from './shim-harness.js';

const RUN_POD_SANDBOX = [
  'plan',
  'write the record',
  'write the pod files',
  'pin the network namespace',
  'attach to the pod network',
  'create the pause process',
  'start the pause process',
  'record that it is ready',
];
const CREATE_CONTAINER = [
  'check the configuration',
  'plan',
  'write the record',
  'mount the image volumes',
  'label the mounts',
  'prepare the snapshot',
  'fill the volumes of the image',
  'look up the user',
  'write the spec',
];
const START_CONTAINER = ['open the log and FIFOs', 'find the root file system', 'create the task', 'start the task'];

test('every step of RunPodSandbox, CreateContainer and StartContainer has a failpoint', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await shim.startContainer(pod);
  const steps = (call: string) =>
    shim.failpoints.reached.filter((place) => place.startsWith(`${call}/`)).map((place) => place.slice(call.length + 1));
  t.same(new Set(steps('RunPodSandbox')), new Set(RUN_POD_SANDBOX));
  t.same(steps('CreateContainer'), CREATE_CONTAINER);
  t.same(new Set(steps('StartContainer')), new Set(START_CONTAINER));
});

for (const step of RUN_POD_SANDBOX) {
  test(`RunPodSandbox fails at "${step}": the message says so, nothing is left, and a retry works`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    shim.failpoints.fail(`RunPodSandbox/${step}`);
    await t.rejects(shim.runPod(), { code: status.INTERNAL, details: `${step}: failpoint` });
    t.same(await shim.leftovers(), []);
    t.same((await shim.cri.runtime.listPodSandbox({})).items, []);
    shim.failpoints.clear();
    const pod = await shim.runPod();
    await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
    await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
    t.same(await shim.leftovers(), []);
  });
}

for (const step of CREATE_CONTAINER) {
  test(`CreateContainer fails at "${step}": the message says so, nothing is left, and a retry works`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const pod = await shim.runPod();
    const before = await shim.leftovers();
    shim.failpoints.fail(`CreateContainer/${step}`);
    await t.rejects(shim.createContainer(pod), { code: status.INTERNAL, details: `${step}: failpoint` });
    t.same(await shim.leftovers(), before);
    shim.failpoints.clear();
    t.match(await shim.createContainer(pod), /^[0-9a-f]{64}$/);
  });
}

for (const step of START_CONTAINER) {
  test(`StartContainer fails at "${step}": the container has exited with StartError`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const pod = await shim.runPod();
    const containerId = await shim.createContainer(pod);
    const before = await shim.leftovers();
    shim.failpoints.fail(`StartContainer/${step}`);
    await t.rejects(shim.cri.runtime.startContainer({ containerId }), { code: status.INTERNAL, details: `${step}: failpoint` });
    const { status: container } = await shim.cri.runtime.containerStatus({ containerId });
    t.match(container, { exitCode: 128, reason: 'StartError', message: `${step}: failpoint` });
    t.same(await shim.leftovers(), before);
  });
}

test('a failed undo leaves the sandbox visible, not ready and removable', async (t) => {
  let refuse = true;
  const shim = await Shim.start({
    plugins: {
      net: ({ command }) => {
        if (refuse) throw new Error(`no ${command}`);
        return undefined;
      },
    },
  });
  t.teardown(() => shim.close());
  const error = await shim.runPod().catch((reason: unknown) => reason);
  t.ok(error instanceof CriCallError && error.details.startsWith('attach to the pod network: '));
  const { items } = await shim.cri.runtime.listPodSandbox({});
  t.match(items, [{ state: 1, metadata: { name: 'pod' } }]);
  refuse = false;
  const podSandboxId = items[0]?.id ?? '';
  await shim.cri.runtime.stopPodSandbox({ podSandboxId });
  await shim.cri.runtime.removePodSandbox({ podSandboxId });
  t.same(await shim.leftovers(), []);
});
