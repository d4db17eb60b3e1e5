import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestNode } from './node.js';
import { conflist } from './pod-network.js';
import { tryRun } from './run.js';

/** Within which the runtime must follow a change of the configuration directory. */
export const FOLLOWED_MS = 1_500;
const VERSION = '{"cniVersion":"1.1.0","supportedVersions":["0.4.0","1.0.0","1.1.0"]}';

/** What a chained plugin prints that changes nothing: the result before it. */
export const passThrough = `[ "$CNI_COMMAND" = ADD ] && printf %s "$input" | sed 's/.*"prevResult": *//; s/}$//'; exit 0`;

/** Whether the bridge plugin under test speaks a version of CNI: Debian's speaks 1.0 at most. */
export async function supports(node: TestNode, version: string): Promise<boolean> {
  const asked = await tryRun('sh', ['-c', `echo '{"cniVersion":"1.0.0"}' | ${node.environment.cniBinDir}/bridge`], {
    env: { CNI_COMMAND: 'VERSION' },
  });
  return asked.stdout.includes(`"${version}"`);
}

/** Replaces the network's configuration, and gives the runtime the time to follow. */
export async function putNetwork(node: TestNode, list: object): Promise<void> {
  const file = join(node.network.confDir, '10-e2e.conflist');
  await writeFile(`${file}.new`, JSON.stringify(list));
  await rename(`${file}.new`, file);
  await pause(FOLLOWED_MS);
}

/** The node's own network as it was in the beginning. */
export async function useGoodNetwork(node: TestNode): Promise<void> {
  await putNetwork(node, conflist(node.network, join(node.directory, 'cni-ipam')));
}

/** Chains a plugin of shell commands after the node's own; `$input` is what it was given. */
export async function usePlugin(node: TestNode, type: string, body: string, cniVersion = '1.0.0'): Promise<void> {
  await mkdir(node.ownPluginDir, { recursive: true });
  const path = join(node.ownPluginDir, type);
  await writeFile(path, `#!/bin/sh\ninput=$(cat)\nif [ "$CNI_COMMAND" = VERSION ]; then echo '${VERSION}'; exit 0; fi\n${body}\n`);
  await chmod(path, 0o755);
  const list = conflist(node.network, join(node.directory, 'cni-ipam')) as { cniVersion: string; plugins: object[] };
  await putNetwork(node, { ...list, cniVersion, plugins: [...list.plugins, { type }] });
}
