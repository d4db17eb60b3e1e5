import assert from 'node:assert/strict';
import { eventually } from '../../harness/eventually.js';
import { AGNHOST, FOR_EVER, pod, script, type List, type Pod } from './objects.js';
import type { Scene } from './scene.js';

/** A pod of another runtime handler runs; one whose handler does not exist says so in an event. */
export async function runtimeClass({ kubectl, cluster }: Scene, handler: string): Promise<void> {
  const runtimeClass = (name: string, handlerName: string) => ({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name }, handler: handlerName });
  await cluster.kubectl.apply(runtimeClass('other', handler), runtimeClass('missing', 'no-such-handler'));
  await kubectl.apply(pod('other', script(FOR_EVER), { runtimeClassName: 'other' }), pod('missing', script(FOR_EVER), { runtimeClassName: 'missing' }));
  await kubectl.wait('condition=Ready', 'pod/other');
  await eventually(async () => {
    const { items } = await kubectl.json<List<{ reason: string; message: string }>>('get', 'events', '--field-selector=involvedObject.name=missing');
    assert.match(items.filter(({ reason }) => reason === 'FailedCreatePodSandBox').map(({ message }) => message).join('\n'), /no-such-handler/);
  }, 40_000, 500);
  await cluster.kubectl.delete('runtimeclass/other', 'runtimeclass/missing');
}

/** A container's limits change while it runs. */
export async function resizeInPlace({ kubectl }: Scene): Promise<void> {
  const quota = 'cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d" " -f1 /sys/fs/cgroup/cpu.max';
  const resources = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
  await kubectl.apply(pod('grows', script(FOR_EVER, { resources: resources('100m', '32Mi') })));
  await kubectl.wait('condition=Ready', 'pod/grows');
  assert.equal((await kubectl.run('exec', 'grows', '--', 'sh', '-c', quota)).trim(), '10000');
  const before = await kubectl.json<Pod>('get', 'pod', 'grows');
  await kubectl.run('patch', 'pod', 'grows', '--subresource=resize', '--patch', JSON.stringify({ spec: { containers: [{ name: 'main', resources: resources('250m', '64Mi') }] } }));
  await eventually(async () => {
    assert.equal((await kubectl.run('exec', 'grows', '--', 'sh', '-c', quota)).trim(), '25000');
    const { status } = await kubectl.json<Pod>('get', 'pod', 'grows');
    assert.deepEqual(status.containerStatuses[0]?.resources?.limits, { cpu: '250m', memory: '64Mi' });
  }, 60_000, 500);
  const { status } = await kubectl.json<Pod>('get', 'pod', 'grows');
  assert.equal(status.containerStatuses[0]?.restartCount, 0);
  assert.equal(status.containerStatuses[0].containerID, before.status.containerStatuses[0]?.containerID);
}

/** A pod in a user namespace: its root is nobody on the node. */
export async function userNamespace({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { word: 'mapped' } },
    pod('mapped', script(`cat /proc/self/uid_map; id -u; cat /settings/word; echo; ${FOR_EVER}`, { volumeMounts: [{ name: 'settings', mountPath: '/settings' }] }), {
      hostUsers: false,
      volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
    }),
  );
  await kubectl.wait('condition=Ready', 'pod/mapped');
  const [map, user, word] = await eventually(async () => {
    const lines = (await kubectl.run('logs', 'mapped')).trim().split('\n');
    assert.equal(lines.length, 3);
    return lines;
  }, 20_000, 300);
  const [inside, outside, length] = (map ?? '').trim().split(/\s+/).map(Number);
  assert.equal(inside, 0);
  assert.ok((outside ?? 0) >= 65536, map);
  assert.equal(length, 65536);
  assert.equal(user, '0');
  assert.equal(word, 'mapped');
}

/** The files of an image as a volume. */
export async function imageVolume({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(
    pod('reader', script(`ls -d /image/agnhost; touch /image/x 2>&1 | sed 's/.*: //'; ${FOR_EVER}`, { volumeMounts: [{ name: 'image', mountPath: '/image' }] }), {
      volumes: [{ name: 'image', image: { reference: AGNHOST } }],
    }),
  );
  await kubectl.wait('condition=Ready', 'pod/reader');
  await eventually(async () => assert.match(await kubectl.run('logs', 'reader'), /^\/image\/agnhost\nRead-only file system\n$/i), 10_000, 300);
}

/** A running pod sees what is changed in a ConfigMap, in a Secret and in its own labels. */
export async function updatedVolumes({ kubectl }: Scene): Promise<void> {
  const configMap = (word: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { word } });
  const secret = (word: string) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hidden' }, stringData: { word } });
  const volumes = [
    { name: 'settings', configMap: { name: 'settings' } },
    { name: 'hidden', secret: { secretName: 'hidden' } },
    { name: 'self', downwardAPI: { items: [{ path: 'color', fieldRef: { fieldPath: "metadata.labels['color']" } }] } },
  ];
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  await kubectl.apply(configMap('one'), secret('red'), pod('watcher', script(FOR_EVER, { volumeMounts }), { volumes }));
  await kubectl.wait('condition=Ready', 'pod/watcher');
  const seen = () => kubectl.run('exec', 'watcher', '--', 'cat', '/settings/word', '/hidden/word', '/self/color');
  assert.equal(await seen(), 'onered');
  await kubectl.apply(configMap('two'), secret('blue'));
  await kubectl.run('label', 'pod', 'watcher', 'color=green');
  // The kubelet looks at a pod's volumes once in its syncFrequency and a half.
  await eventually(async () => assert.equal(await seen(), 'twobluegreen'), 90_000, 1_000);
}

/** A container whose liveness probe fails is started again, one whose start-up probe does not pass yet is left alone. */
export async function probes({ kubectl }: Scene): Promise<void> {
  await kubectl.apply(
    pod('slow', script(`sleep 4; touch /tmp/up; ${FOR_EVER}`, {
      startupProbe: { exec: { command: ['test', '-e', '/tmp/up'] }, periodSeconds: 1, failureThreshold: 60 },
      livenessProbe: { exec: { command: ['test', '-e', '/tmp/up'] }, periodSeconds: 1, failureThreshold: 1 },
    })),
  );
  await kubectl.wait('condition=Ready', 'pod/slow');
  const restarts = async () => (await kubectl.json<Pod>('get', 'pod', 'slow')).status.containerStatuses[0]?.restartCount;
  assert.equal(await restarts(), 0);
  await kubectl.run('exec', 'slow', '--', 'rm', '/tmp/up');
  await eventually(async () => assert.equal(await restarts(), 1), 40_000, 500);
  await kubectl.wait('condition=Ready', 'pod/slow');
}
