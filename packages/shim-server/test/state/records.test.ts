import { ContainerConfig, PodSandboxConfig } from '@criquet/cri-api';
import { test } from 'tap';
import { configDigest } from '../../src/state/config-digest.js';
import { containerCodec, containerName, type ContainerRecord } from '../../src/state/container-record.js';
import { matchesLabels } from '../../src/state/label-selector.js';
import { isObjectId, newObjectId } from '../../src/state/object-id.js';
import { recordLabels } from '../../src/state/record-labels.js';
import { sandboxCodec, sandboxName, type SandboxRecord } from '../../src/state/sandbox-record.js';

const sandbox: SandboxRecord = {
  id: 'a'.repeat(64),
  name: 'n',
  config: PodSandboxConfig.fromPartial({ metadata: { name: 'pod' }, labels: { a: 'ü' }, linux: { resources: { memoryLimitInBytes: 1n << 62n } } }),
  configDigest: 'd',
  runtimeHandler: '',
  handler: 'runc',
  snapshotter: '',
  cgroupsPath: '/c',
  phase: 'ready',
  netnsPath: '/run/n',
  networkAttached: true,
  ips: ['10.0.0.1', 'fd00::1'],
  pid: 7,
  createdAt: 1_700_000_000_123_456_789n,
};
const container: ContainerRecord = {
  id: 'b'.repeat(64),
  sandboxId: 'a'.repeat(64),
  name: 'n',
  config: ContainerConfig.fromPartial({ metadata: { name: 'app' }, command: ['x'] }),
  configDigest: 'd',
  phase: 'exited',
  imageId: 'sha256:1',
  imageRef: 'r@sha256:2',
  logPath: '/l',
  stopSignal: 15,
  snapshotter: 'overlayfs',
  cgroupsPath: '/c',
  user: { uid: 1, gid: 2, additionalGids: [3] },
  pid: 0,
  createdAt: 1n,
  startedAt: 2n,
  exit: { code: 137, reason: 'OOMKilled', message: 'm', finishedAt: 3n },
};

test('records come back from their bytes as they were, with 64-bit numbers whole', (t) => {
  t.same(sandboxCodec.decode(sandboxCodec.encode(sandbox)), { version: 1, ...sandbox });
  t.same(containerCodec.decode(containerCodec.encode(container)), { version: 1, ...container });
  const { exit: _, user: __, ...young } = container;
  const decoded = containerCodec.decode(containerCodec.encode(young));
  t.equal(decoded.exit, undefined);
  t.equal(decoded.user, undefined);
  t.end();
});

test('bytes of another version, or cut off, are refused with what is wrong', (t) => {
  const any = sandboxCodec.encode(sandbox);
  const text = Buffer.from(any.value).toString();
  t.throws(() => sandboxCodec.decode({ ...any, value: Buffer.from(text.replace('"version":1', '"version":2')) }), { message: /version 2 is not known/ });
  t.throws(() => sandboxCodec.decode({ ...any, value: Buffer.from(text.slice(0, 100)) }));
  t.throws(() => sandboxCodec.decode({ ...any, value: Buffer.from('{"version":1}') }));
  t.throws(() => sandboxCodec.decode({ ...any, value: Buffer.from('null') }), { message: /version undefined is not known/ });
  t.end();
});

test('bytes that are JSON and no record are refused with the member that is wrong', (t) => {
  const damaged = (codec: typeof sandboxCodec | typeof containerCodec, any: { value: Uint8Array; typeUrl: string }, change: object) => () =>
    codec.decode({ ...any, value: Buffer.from(JSON.stringify({ ...(JSON.parse(Buffer.from(any.value).toString()) as object), ...change })) });
  const [pod, app] = [sandboxCodec.encode(sandbox), containerCodec.encode(container)];
  t.throws(damaged(sandboxCodec, pod, { phase: 'reedy' }), { message: /criquet\.sandbox: phase: / });
  t.throws(damaged(sandboxCodec, pod, { ips: 'none' }), { message: /ips/ });
  t.throws(damaged(sandboxCodec, pod, { netnsPath: null }), { message: /netnsPath/ });
  t.throws(damaged(sandboxCodec, pod, { config: '' }), { message: /metadata is missing/ }, 'lists show the metadata of every pod');
  t.throws(damaged(containerCodec, app, { exit: { code: 1 } }), { message: /exit\./ });
  t.throws(damaged(containerCodec, app, { pid: -1 }), { message: /pid/ });
  t.throws(damaged(containerCodec, app, { createdAt: 'yesterday' }), { message: /createdAt/ });
  t.match(damaged(containerCodec, app, { ofALaterCriquet: 1 })(), { ofALaterCriquet: 1 }, 'what is not known stays');
  t.end();
});

test('names: a sandbox by its four metadata fields, a container by its own two and its sandbox', (t) => {
  const metadata = { name: 'p', namespace: 'ns', uid: 'u', attempt: 3 };
  t.equal(sandboxName(metadata), 'p_ns_u_3');
  t.not(containerName({ name: 'c', attempt: 0 }, 's'), containerName({ name: 'c', attempt: 1 }, 's'));
  t.not(containerName({ name: 'c', attempt: 0 }, 's'), containerName({ name: 'c', attempt: 0 }, 's2'));
  t.end();
});

test('the digest of a configuration does not depend on the order of its maps, and on everything else it does', (t) => {
  const digest = (change: object) => configDigest(PodSandboxConfig.fromPartial({ labels: { a: '1', b: '2' }, ...change }));
  t.equal(digest({}), digest({ labels: { b: '2', a: '1' } }));
  t.not(digest({}), digest({ labels: { a: '2', b: '1' } }));
  t.not(digest({}), digest({ hostname: 'h' }));
  t.not(digest({ dnsConfig: { servers: ['1', '2'] } }), digest({ dnsConfig: { servers: ['2', '1'] } }));
  t.not(digest({ linux: { resources: { memoryLimitInBytes: 1n << 60n } } }), digest({ linux: { resources: { memoryLimitInBytes: (1n << 60n) + 1n } } }));
  t.end();
});

test('labels in containerd: the pod\'s own and the kind; what containerd would act on or refuse is left out', (t) => {
  const fits = 'x'.repeat(4096 - 'key'.length);
  const acted = { 'containerd.io/restart.status': 'running', 'containerd.io/restart.loguri': 'binary:///bin/sh', 'containerd.io/gc.root': 'x' };
  const labels = recordLabels('sandbox', { a: 'b', ...acted, key: fits, big: 'x'.repeat(4094), wide: 'ü'.repeat(2047), 'io.cri-containerd.kind': 'mine' });
  t.same(labels, { a: 'b', key: fits, 'io.cri-containerd.kind': 'sandbox' });
  t.end();
});

test('label selectors', (t) => {
  t.ok(matchesLabels({ a: '1', b: '2' }, { a: '1' }));
  t.ok(matchesLabels({}, {}));
  t.notOk(matchesLabels({ a: '1' }, { a: '2' }));
  t.notOk(matchesLabels({ a: '1' }, { toString: '' }), 'only the labels themselves');
  t.end();
});

test('ids are 64 hexadecimal digits, each another', (t) => {
  t.match(newObjectId(), /^[0-9a-f]{64}$/);
  t.not(newObjectId(), newObjectId());
  t.ok(isObjectId(newObjectId()));
  for (const text of ['', '..', '../etc', 'a'.repeat(63), `${'a'.repeat(64)}\n`, 'A'.repeat(64)]) t.notOk(isObjectId(text), JSON.stringify(text));
  t.end();
});
