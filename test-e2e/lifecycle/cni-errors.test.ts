import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../harness/eventually.js';
import type { TestNode } from '../harness/node.js';
import { onEachEngine, type Test } from '../harness/on-each-engine.js';
import { conflist, reservedAddresses } from '../harness/pod-network.js';
import { CALL, TestPod } from '../harness/pods.js';

/** Within which the runtime must follow a change of the configuration directory. */
const FOLLOWED_MS = 1_500;

await onEachEngine(
  'CNI configurations and plugins that misbehave',
  async (t, node) => {
    const { runtime } = node.cri;
    const file = join(node.network.confDir, '10-e2e.conflist');
    const good = JSON.stringify(conflist(node.network, join(node.directory, 'cni-ipam')));
    const networkReady = async () => {
      const { status } = await runtime.status({}, CALL);
      return status?.conditions.find(({ type }) => type === 'NetworkReady');
    };
    const restore = async () => {
      await mkdir(node.network.confDir, { recursive: true });
      await writeFile(`${file}.new`, good);
      await rename(`${file}.new`, file);
      await pause(FOLLOWED_MS);
      await eventually(() => node.expectReady());
    };

    await t.test('N3: the configuration comes and goes', async (t) => {
      const becomes = (ready: boolean) =>
        eventually(async () => {
          const condition = await networkReady();
          if (condition?.status !== ready) throw new Error(`NetworkReady is ${condition?.status}: ${condition?.message}`);
          return condition;
        }, 3_000);
      await writeFile(file, '{ "cniVersion": "1.0.0", "name": ');
      const malformed = await becomes(false);
      t.match(malformed.message, /10-e2e\.conflist/, 'it names the file');
      await t.rejects(runtime.runPodSandbox({ config: TestPod.config(node) }, CALL), { message: /10-e2e\.conflist|network/i });
      await restore();
      await becomes(true);
      await rm(node.network.confDir, { recursive: true });
      await becomes(false);
      await restore();
      await becomes(true);
    });

    await t.test('a plugin that is not there', async (t) => {
      await withPlugin(t, node, file, good, 'no-such-plugin', undefined, /no-such-plugin/);
    });
    await t.test('a plugin that prints rubbish', async (t) => {
      await withPlugin(t, node, file, good, 'rubbish', 'echo this is no JSON', /rubbish/);
    });
    await t.test('a plugin that dies', async (t) => {
      await withPlugin(t, node, file, good, 'dying', 'kill -9 $$', /dying/);
    });
    await t.test('a plugin that fails with an error of its own', async (t) => {
      const body = `echo '{"cniVersion":"1.0.0","code":103,"msg":"no luck","details":"today"}'; exit 1`;
      await withPlugin(t, node, file, good, 'failing', body, /no luck/);
    });
    await restore();

    await t.test('afterwards pods run as before', async (t) => {
      const pod = await TestPod.run(node);
      t.strictSame(await reservedAddresses(node.network), [await pod.ip()]);
      await pod.remove();
    });

    await t.test('N4: the configuration is gone when a pod is removed', async (t) => {
      const pod = await TestPod.run(node);
      await rm(file);
      await pod.remove();
      t.strictSame(await reservedAddresses(node.network), [], 'the DEL used what was kept at the ADD');
      await restore();
    });
  },
  { only: 'criquet', engines: 'newest' },
);

/**
 * Puts a plugin after bridge in the chain, so that its failure comes when an address is already given, and asserts that the
 * sandbox fails with a message that says what, and that nothing stays.
 *
 * @param body shell commands for every CNI command but VERSION; undefined: no such plugin
 */
async function withPlugin(t: Test, node: TestNode, file: string, good: string, type: string, body: string | undefined, says: RegExp): Promise<void> {
  await mkdir(node.ownPluginDir, { recursive: true });
  if (body !== undefined) {
    const version = `{"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0"]}`;
    const path = join(node.ownPluginDir, type);
    await writeFile(path, `#!/bin/sh\ncat >/dev/null\nif [ "$CNI_COMMAND" = VERSION ]; then echo '${version}'; exit 0; fi\nif [ "$CNI_COMMAND" = DEL ]; then exit 0; fi\n${body}\n`);
    await chmod(path, 0o755);
  }
  const list = JSON.parse(good) as { plugins: object[] };
  list.plugins.push({ type });
  await writeFile(`${file}.new`, JSON.stringify(list));
  await rename(`${file}.new`, file);
  await pause(FOLLOWED_MS);
  const before = await node.state();
  await t.rejects(node.cri.runtime.runPodSandbox({ config: TestPod.config(node) }, CALL), { message: says }, 'the sandbox fails and says why');
  t.strictSame(await node.leaksSince(before), [], 'nothing is left: no netns, address, record, mount');
  t.strictSame(await reservedAddresses(node.network), []);
}
