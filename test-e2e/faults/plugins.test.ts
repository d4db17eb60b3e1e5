import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { patience } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import type { TestNode } from '../harness/node.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { CALL, TestPod } from '../harness/pods.js';
import { criquetOf } from './scenarios/dying-daemon.js';

/** How long the plugin's ADD takes, in seconds: longer than the next daemon takes to its first DEL. */
const ADD_SECONDS = 4;

await onEachEngine(
  'a CNI plugin that outlives its daemon',
  async (t, node) => {
    await t.test('N1 killed while a plugin adds: it does not end its ADD after the DEL', async (t) => {
      const attached = await useSlowPlugin(node);
      const began = Date.now();
      const run = node.cri.runtime.runPodSandbox({ config: TestPod.config(node) }, CALL).catch(() => undefined);
      const pid = await eventually(async () => Number(await readFile(join(attached, 'adding'), 'utf8')));
      await criquetOf(node).kill();
      node.reconnect();
      await run;
      t.ok(await runs(pid), 'the plugin goes on without its daemon');
      await criquetOf(node).start();
      t.notOk(await runs(pid), 'and not beside the next one');
      await eventually(async () => {
        const { items } = await node.cri.runtime.listPodSandbox({}, CALL);
        if (items.length > 0) throw new Error('the half-made pod is still there');
      }, 20_000);
      // By then the ADD would have ended.
      await pause(Math.max(0, began + patience(ADD_SECONDS * 1_000) + 500 - Date.now()));
      t.strictSame((await readdir(attached)).filter((name) => name.startsWith('pod-')), []);
    });
  },
  { only: 'criquet', engines: 'newest' },
);

/** A network whose ADD takes its time. @returns the directory in which it has a file for each pod */
async function useSlowPlugin(node: TestNode): Promise<string> {
  const attached = join(node.directory, 'attached');
  for (const directory of [attached, node.ownPluginDir]) await mkdir(directory, { recursive: true });
  const plugin = join(node.ownPluginDir, 'slow');
  await writeFile(
    plugin,
    `#!/bin/sh
cat > /dev/null
case $CNI_COMMAND in
VERSION) echo '{"cniVersion":"1.0.0","supportedVersions":["1.0.0"]}' ;;
DEL) rm -f ${attached}/pod-$CNI_CONTAINERID ;;
ADD)
  echo $$ > ${attached}/adding.new && mv ${attached}/adding.new ${attached}/adding
  sleep ${ADD_SECONDS}
  touch ${attached}/pod-$CNI_CONTAINERID
  echo '{"cniVersion":"1.0.0","interfaces":[{"name":"eth0","sandbox":"'$CNI_NETNS'"}],"ips":[{"address":"192.0.2.7/24","interface":0}]}' ;;
esac
`,
  );
  await chmod(plugin, 0o755);
  const list = join(node.network.confDir, '10-e2e.conflist');
  await writeFile(`${list}.new`, JSON.stringify({ cniVersion: '1.0.0', name: 'slow', plugins: [{ type: 'slow' }] }));
  await rename(`${list}.new`, list);
  await eventually(async () => {
    const { info } = await node.cri.runtime.status({ verbose: true }, CALL);
    if (!JSON.stringify(info).includes('slow')) throw new Error('the network is not in use yet');
  });
  await rm(join(attached, 'adding'), { force: true });
  return attached;
}

async function runs(pid: number): Promise<boolean> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== '';
}
