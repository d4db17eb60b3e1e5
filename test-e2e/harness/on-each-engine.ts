import t, { type Test } from 'tap';
import { enginesUnderTest, readEnvironment, type Engine } from './environment.js';
import { TestNode, type NodeOptions, type Runtime } from './node.js';

/** The runtime under test: criquet, or containerd's own plugin where `CRIQUET_E2E_RUNTIME=containerd` asks for the yardstick. */
export const runtimeUnderTest: Runtime = process.env.CRIQUET_E2E_RUNTIME === 'containerd' ? 'containerd' : 'criquet';

/**
 * Runs a suite once for each containerd, on a node of its own, and asserts at the end that the suite left nothing behind:
 * no process, mount, netns, address, cgroup, rule, container, snapshot or file.
 *
 * @param only `criquet`: the suite is about criquet itself and skipped on the yardstick
 * @param engines `newest`: on the newest containerd alone, for what hardly depends on it; with `CRIQUET_E2E_LONG=1` on each
 */
export async function onEachEngine(
  name: string,
  suite: (t: Test, node: TestNode, engine: Engine) => Promise<void>,
  options: Partial<NodeOptions> & { only?: 'criquet'; engines?: 'newest' } = {},
): Promise<void> {
  const { only, engines, ...nodeOptions } = options;
  if (only === 'criquet' && runtimeUnderTest !== 'criquet') {
    await t.test(name, { skip: 'about criquet itself' }, () => undefined);
    return;
  }
  const all = enginesUnderTest(readEnvironment());
  const newestOnly = engines === 'newest' && process.env.CRIQUET_E2E_LONG !== '1';
  for (const engine of newestOnly ? all.slice(-1) : all) {
    await t.test(`${name} (${runtimeUnderTest}, containerd ${engine})`, async (t) => {
      const node = await TestNode.start({ engine, runtime: runtimeUnderTest, ...nodeOptions });
      t.teardown(() => node.dispose());
      t.teardown(() => keepLogs(node));
      const before = await node.state();
      await suite(t, node, engine);
      t.strictSame(await node.leaksSince(before), [], 'nothing is left behind');
    });
  }
}

/** Where `CRIQUET_E2E_LOGS` names a directory, the daemons' logs stay there. */
async function keepLogs(node: TestNode): Promise<void> {
  const directory = process.env.CRIQUET_E2E_LOGS;
  if (directory !== undefined) await node.keepLogs(directory);
}

export type { Test };
