import * as fc from 'fast-check';
import { test } from 'tap';
import { NAMESPACE } from '../component/shim-harness.js';
import { damaged } from './damaged.js';
import { FuzzedNode } from './fuzzed-node.js';
import { hostileJson } from './hostile.js';
import { fuzzing } from './parameters.js';

test('records that are damaged: the start succeeds, the others are as they were, and the damaged ones can be removed', { timeout: 3_600_000 }, async (t) => {
  const node = await FuzzedNode.start(false);
  t.teardown(() => node.close());
  const { shim } = node;
  const run = async (seed: number, sandbox: boolean) => {
    const good = await shim.runPod({ metadata: { name: 'good', namespace: 'ns', uid: 'good', attempt: 0 } });
    const goodContainer = await shim.startContainer(good);
    const bad = await shim.runPod({ metadata: { name: 'bad', namespace: 'ns', uid: 'bad', attempt: 0 } });
    const badContainer = await shim.startContainer(bad);
    await shim.stopServing();
    const id = sandbox ? bad : badContainer;
    const record = shim.containerd.state(NAMESPACE).containers.get(id);
    const extension = record?.extensions[sandbox ? 'criquet.sandbox' : 'criquet.container'];
    if (record === undefined || extension === undefined) throw new Error('no record');
    const text = Buffer.from(extension.value).toString();
    const content = fc.oneof({ weight: 6, arbitrary: damaged(text) }, { weight: 1, arbitrary: hostileJson.map((value) => JSON.stringify(value)) });
    const [value = ''] = fc.sample(content, { seed, numRuns: 1 });
    extension.value = Buffer.from(value);
    await shim.restart();
    const { runtime } = shim.cri;
    const [pods, containers] = await Promise.all([runtime.listPodSandbox({}), runtime.listContainers({})]);
    const seen = [...pods.items, ...containers.containers].map((item) => item.id);
    for (const there of [good, goodContainer, bad, badContainer]) if (!seen.includes(there)) throw new Error(`${there} is not shown; the record was ${JSON.stringify(value.slice(0, 2_000))}`);
    if (pods.items.find((item) => item.id === good)?.state !== 0) throw new Error('the good pod is not ready');
    if (containers.containers.find((item) => item.id === goodContainer)?.state !== 1) throw new Error('the good container does not run');
    await Promise.all([...seen.map((podSandboxId) => runtime.podSandboxStatus({ podSandboxId, verbose: true }).catch(() => undefined)), runtime.listPodSandboxStats({}), runtime.listContainerStats({})]);
    await node.clear();
  };
  await fc.assert(fc.asyncProperty(fc.nat(), fc.boolean(), run), fuzzing(8));
  t.pass('all of them');
});
