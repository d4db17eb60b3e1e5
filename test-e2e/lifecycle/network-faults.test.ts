import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../harness/eventually.js';
import type { TestNode } from '../harness/node.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { passThrough, supports, useGoodNetwork, usePlugin } from '../harness/own-plugin.js';
import { removeMasquerading, reservedAddresses } from '../harness/pod-network.js';
import { tryRun } from '../harness/run.js';
import { CALL, TestPod } from '../harness/pods.js';

await onEachEngine(
  'networks that fail',
  async (t, node) => {
    const { runtime } = node.cri;

    await t.test('N1: ADD and DEL fail for a while: no address is lost', async (t) => {
      await usePlugin(node, 'flaky', `[ -e ${join(node.directory, 'fail')} ] && { echo '{"code":11,"msg":"try later"}'; exit 1; }; ${passThrough}`);
      await writeFile(join(node.directory, 'fail'), '');
      for (let turn = 0; turn < 3; turn++) {
        await t.rejects(runtime.runPodSandbox({ config: TestPod.config(node) }, CALL), { message: /try later/ });
      }
      await rm(join(node.directory, 'fail'));
      await eventually(async () => expectNoAddress(node), 60_000, 500);
      const pod = await TestPod.run(node);
      t.strictSame(await reservedAddresses(node.network), [await pod.ip()], 'a pod runs when the plugin works again');
      await pod.remove();
      t.strictSame(await reservedAddresses(node.network), []);
      await useGoodNetwork(node);
    });

    await t.test('N2: the namespace is gone while the daemon is down: the address is freed all the same', async (t) => {
      const pod = await TestPod.run(node);
      const pin = (await node.state())['netns pins'][0] ?? '';
      t.not(pin, '');
      await node.criquet?.stop();
      await tryRun('umount', ['--lazy', pin]);
      await rm(pin, { force: true });
      for (const line of (await node.state()).processes.filter((process) => process.includes(pod.id) || process.includes('/pause'))) {
        process.kill(Number.parseInt(line, 10), 'SIGKILL');
      }
      await node.criquet?.start();
      await eventually(() => node.expectReady(), 20_000);
      await pod.remove();
      t.strictSame(await reservedAddresses(node.network), []);
      // The bridge plugin finds a pod's masquerading rules by its namespace only; without one it leaves them.
      await removeMasquerading(node.network);
    });

    await t.test('N5: a DEL that hangs is killed with its children at the deadline; other pods are not concerned', async (t) => {
      const hang = join(node.directory, 'hang');
      const child = join(node.directory, 'hanging-child');
      await usePlugin(node, 'hanging', `if [ "$CNI_COMMAND" = DEL ] && [ -e ${hang} ]; then sleep 1000 & echo $! > ${child}; wait; fi; ${passThrough}`);
      const pod = await TestPod.run(node);
      await writeFile(hang, '');
      const started = Date.now();
      const stop = runtime.stopPodSandbox({ podSandboxId: pod.id }, { timeoutMs: 3_000 }).then(
        () => 'stopped',
        () => 'failed',
      );
      await pause(500);
      await useGoodNetwork(node);
      const other = await TestPod.run(node);
      await other.remove();
      t.ok(['stopped', 'failed'].includes(await stop));
      t.ok(Date.now() - started < 15_000);
      await rm(hang);
      await eventually(() => pod.remove(), 90_000, 1_000);
      await eventually(async () => expectNoAddress(node), 60_000, 500);
      const pid = Number(await readFile(child, 'utf8'));
      await eventually(async () => {
        const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
        if (command !== '') throw new Error(`the plugin's child still runs: ${command}`);
      }, 90_000, 1_000);
    });

    const without = (await supports(node, '1.1.0')) ? false : 'these CNI plugins are older than CNI 1.1';
    await t.test('N7: CNI 1.1: a failing STATUS makes the network not ready', { skip: without }, async (t) => {
      const fails = join(node.directory, 'status-fails');
      await usePlugin(
        node,
        'reporting',
        `[ "$CNI_COMMAND" = STATUS ] && [ -e ${fails} ] && { echo '{"code":50,"msg":"not now"}'; exit 1; }
case $CNI_COMMAND in STATUS | GC) exit 0;; esac
${passThrough}`,
        '1.1.0',
      );
      const pod = await TestPod.run(node);
      await writeFile(fails, '');
      const condition = await eventually(async () => {
        const { status } = await runtime.status({}, CALL);
        const found = status?.conditions.find(({ type }) => type === 'NetworkReady');
        if (found?.status !== false) throw new Error('still ready');
        return found;
      });
      t.match(condition.message, /not now/);
      await rm(fails);
      await eventually(() => node.expectReady());
      await pod.remove();
      await useGoodNetwork(node);
    });
  },
  { only: 'criquet', engines: 'newest' },
);

async function expectNoAddress(node: TestNode): Promise<void> {
  const reserved = await reservedAddresses(node.network);
  if (reserved.length > 0) throw new Error(`still reserved: ${reserved.join(', ')}`);
}
