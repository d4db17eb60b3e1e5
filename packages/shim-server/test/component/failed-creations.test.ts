import { readdir, readFile } from 'node:fs/promises';
import { status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { eventually, Shim } from './shim-harness.js';

// T5: creations and starts that fail late, over and over. criquet makes the FIFOs in StartContainer and nothing of a container's that is open before, so both calls are
// made to fail: CreateContainer with record and snapshot there, StartContainer with the FIFOs there and read from.

const WHOLE = process.env.CRIQUET_FAULTS === 'whole';
const TIMES = WHOLE ? 2_000 : 100;

interface Held {
  readonly descriptors: number;
  readonly threads: number;
}

async function held(): Promise<Held> {
  const [descriptors, processStatus] = await Promise.all([readdir('/proc/self/fd'), readFile('/proc/self/status', 'utf8')]);
  return { descriptors: descriptors.length, threads: Number(/^Threads:\s+(\d+)$/m.exec(processStatus)?.[1]) };
}

/** @param fail one call that fails, with everything of it removed as a kubelet would */
async function expectFlat(t: Test, shim: Shim, fail: (attempt: number) => Promise<void>): Promise<void> {
  // What is made once is there after the first ones.
  for (let attempt = 0; attempt < 5; attempt++) await fail(attempt);
  const [before, files] = [await held(), await shim.leftovers()];
  for (let attempt = 5; attempt < TIMES + 5; attempt++) await fail(attempt);
  await eventually(async () => {
    const now = await held();
    if (now.descriptors > before.descriptors + 2 || now.threads > before.threads) throw new Error(`${JSON.stringify(now)} instead of ${JSON.stringify(before)}`);
  });
  t.same(await shim.leftovers(), files);
  t.comment(`${TIMES} failures, before ${JSON.stringify(before)}, after ${JSON.stringify(await held())}`);
}

if (WHOLE) t.setTimeout(3_600_000);

t.test('T5 CreateContainer fails when its snapshot is there: threads, descriptors and files are flat', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  shim.failpoints.fail('CreateContainer/prepare the snapshot', { moment: 'after' });
  await expectFlat(t, shim, async (attempt) => {
    await t.rejects(shim.createContainer(pod, { metadata: { name: 'app', attempt } }), { code: status.INTERNAL, details: /^prepare the snapshot: failpoint/ });
  });
  t.same((await shim.cri.runtime.listContainers({})).containers, []);
});

t.test('T5 StartContainer fails when the FIFOs are there: threads, descriptors and files are flat', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  shim.containerd.control.fail('tasks.create', { details: 'no' });
  await expectFlat(t, shim, async (attempt) => {
    const containerId = await shim.createContainer(pod, { metadata: { name: 'app', attempt } });
    await t.rejects(shim.cri.runtime.startContainer({ containerId }), { code: status.UNKNOWN });
    await shim.cri.runtime.removeContainer({ containerId });
  });
});
