/*
 * Every subcommand of crictl 1.37, on criquet and on containerd's own CRI plugin, with the same containerd program. What they
 * print is compared: words and states as they are, ids and times by their shape, measured figures by their size. Each difference
 * stands in `known-differences.ts` with its reason, and one that is listed must occur.
 */
import t, { type Test } from 'tap';
import { enginesUnderTest, readEnvironment, type Engine } from '../harness/environment.js';
import { TestNode, type Runtime } from '../harness/node.js';
import { Crictl } from './crictl.js';
import { Side } from './side.js';
import { Walk } from './walk.js';

for (const engine of enginesUnderTest(readEnvironment())) {
  await t.test(`crictl on both runtimes, containerd ${engine}`, async (t) => {
    const nodes = await Promise.all([start(t, engine, 'criquet'), start(t, engine, 'containerd')]);
    const before = await Promise.all(nodes.map((node) => node.state()));
    const clients = await Promise.all(nodes.map((node) => Crictl.of(node)));
    const [criquet, containerd] = nodes.flatMap((node, index) => (clients[index] === undefined ? [] : [new Side(node, clients[index])]));
    if (criquet === undefined || containerd === undefined) {
      t.comment('crictl is not there: it is built with Go, which this machine lacks');
      return;
    }
    await new Walk(t, criquet, containerd).all();
    for (const [index, node] of nodes.entries()) {
      const state = before[index];
      // The plugin leaves its sandbox image's snapshots; what it leaves is not this test's matter.
      if (index === 0 && state !== undefined) t.strictSame(await node.leaksSince(state), [], 'criquet leaves nothing behind');
    }
  });
}

async function start(t: Test, engine: Engine, runtime: Runtime): Promise<TestNode> {
  const node = await TestNode.start({ engine, runtime });
  t.teardown(() => node.dispose());
  return node;
}
