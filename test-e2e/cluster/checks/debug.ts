import assert from 'node:assert/strict';
import { eventually } from '../../harness/eventually.js';
import { BUSYBOX, FOR_EVER, pod, script, type List, type Pod } from './objects.js';
import type { Scene } from './scene.js';

/** `kubectl debug` puts a container into a running pod, which sees the processes of the one that it is aimed at. */
export async function ephemeralContainer({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(pod('silent', script(FOR_EVER)));
  await kubectl.wait('condition=Ready', 'pod/silent');
  await kubectl.run('debug', 'silent', '--profile=general', `--image=${BUSYBOX}`, '--target=main', '--container=looker', '--', 'sh', '-c', `hostname; cat /proc/1/cmdline; echo; ${FOR_EVER}`);
  await eventually(async () => assert.match(await kubectl.run('logs', 'silent', '--container=looker'), /^silent\n.*trap exit TERM/s), 60_000, 500);
  const { status } = await kubectl.json<Pod>('get', 'pod', 'silent');
  assert.equal(status.containerStatuses[0]?.restartCount, 0);
}

/** `kubectl debug node/…` starts a pod in the node's own namespaces, with its files below /host. */
export async function nodeDebugging({ kubectl, node }: Scene): Promise<void> {
  const name = node.room.name;
  await kubectl.run('debug', `node/${name}`, '--profile=general', `--image=${BUSYBOX}`, '--', 'sh', '-c', 'hostname; ls -d /host/var/lib/kubelet/pods; ip -4 -o address show dev eth0; sleep 1');
  const [debugger_] = (await kubectl.json<List<Pod>>('get', 'pods')).items.filter(({ metadata }) => metadata.name.startsWith(`node-debugger-${name}-`));
  assert.ok(debugger_);
  const { name: pod } = debugger_.metadata;
  await kubectl.wait('jsonpath={.status.phase}=Succeeded', `pod/${pod}`);
  const said = await kubectl.run('logs', pod);
  assert.match(said, new RegExp(`^${name}\n/host/var/lib/kubelet/pods\n.*inet ${node.room.address}/`, 's'));
}
