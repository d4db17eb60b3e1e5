#!/usr/bin/env node
// Attaches a new network namespace to a network of its own, shows the result, asks the plugins to check it and detaches again.
// Needs root, a build (`pnpm build`) and CNI plugins; touches nothing but a bridge, a veth pair and a temporary directory, and removes them.
//
//   node examples/cni-attach.mjs [plugin directory]        default: $CRIQUET_CNI_BIN_DIR, /opt/cni/bin, /usr/lib/cni
//
// In a project of your own, import '@criquet/network-cni' instead of using load().
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from './load.mjs';

const { Cni, CniError, NetnsThread, kubernetesCniArgs, parseConfigList, podIps } = await load('network-cni');

const binDirs = [process.argv[2], process.env.CRIQUET_CNI_BIN_DIR, '/opt/cni/bin', '/usr/lib/cni'].filter(Boolean);
const dir = await mkdtemp(join(tmpdir(), 'cni-attach-'));

const list = parseConfigList(
  JSON.stringify({
    cniVersion: '1.0.0',
    name: 'cni-attach-example',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni-attach0',
        ipam: {
          type: 'host-local',
          dataDir: join(dir, 'ipam'),
          ranges: [[{ subnet: '10.250.77.0/24' }], [{ subnet: 'fd00:250:77::/64' }]],
        },
      },
    ],
  }),
  '(example)',
);

const cni = new Cni({ binDirs, cacheDir: join(dir, 'cache'), defaultTimeoutMs: 10_000 });
const netns = new NetnsThread();
const attachment = {
  containerId: 'example-1',
  netns: join(dir, 'netns', 'example-1'),
  ifName: 'eth0',
  args: kubernetesCniArgs({ namespace: 'default', name: 'example', uid: 'example-uid', sandboxId: 'example-1' }),
  capabilityArgs: {},
};

try {
  await netns.create(attachment.netns, { sysctls: { 'net.ipv4.ip_unprivileged_port_start': '0' } });
  try {
    const result = await cni.add(list, attachment);
    console.log('addresses:', podIps(result, 'eth0').join(', '));
    console.log('interfaces:', result.interfaces.map(({ name, sandbox }) => `${name}${sandbox ? ' (in the namespace)' : ''}`).join(', '));
    await cni.check(list, attachment);
    console.log('check: as ADD left it');
    for (const { networkName, attachment: { containerId } } of await cni.cachedAttachments()) console.log(`in the cache: ${containerId} on ${networkName}`);
  } finally {
    await cni.del(list, attachment); // due after a failed ADD too
  }
  console.log('detached; in the cache:', (await cni.cachedAttachments()).length);
} catch (error) {
  if (!(error instanceof CniError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await netns.release(attachment.netns);
  await netns.close();
  // the bridge plugin leaves its bridge to the administrator
  spawnSync('ip', ['link', 'delete', 'cni-attach0'], { stdio: 'ignore' });
  await rm(dir, { recursive: true, force: true });
}
