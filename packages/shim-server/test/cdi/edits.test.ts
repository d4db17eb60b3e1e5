import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuntimeSpec } from '@criquet/runtime-containerd';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { applyEdits } from '../../src/cdi/apply-edits.js';
import { parseCdiDocument } from '../../src/cdi/cdi-document.js';
import { prepareEdits, type PreparedEdits } from '../../src/cdi/prepare-edits.js';
import { requestedDevices } from '../../src/cdi/requested-devices.js';
import { buildContainerSpec } from '../../src/spec/index.js';
import { containerConfig, containerInput, errorOf } from '../spec/fixtures.js';

const edits = (containerEdits: object) =>
  parseCdiDocument(JSON.stringify({ cdiVersion: '1.1.0', kind: 'v.com/c', devices: [{ name: 'a', containerEdits }] })).devices[0]?.containerEdits;

async function prepared(...list: object[]): Promise<PreparedEdits> {
  const found = await prepareEdits(list.flatMap((edit) => edits(edit) ?? []));
  if (found === undefined) throw new Error('no edits');
  return found;
}

const base = (user = { uid: 1000, gid: 1001, additionalGids: [1001] }): RuntimeSpec => buildContainerSpec(containerInput({ user, imageConfig: { Env: ['A=image'] } }));
const applied = async (...list: object[]) => applyEdits(base(), await prepared(...list));

void t.test('environment and groups: set once, later over earlier, group 0 ignored', async (t) => {
  const { process } = await applied({ env: ['A=1', 'B=1'], additionalGids: [44, 0] }, { env: ['B=2'], additionalGids: [7, 44] });
  t.same(process?.env?.filter((entry) => /^[AB]=/.test(entry)), ['A=1', 'B=2']);
  t.same(process?.user.additionalGids, [7, 44, 1001]);
});

void t.test('device nodes: what is not said is read from the node', async (t) => {
  const dir = t.testdir();
  execFileSync('mknod', ['-m', '640', join(dir, 'disk'), 'b', '259', '3']);
  execFileSync('mknod', [join(dir, 'fifo'), 'p']);
  symlinkSync('disk', join(dir, 'link'));
  const { linux } = await applied({
    deviceNodes: [
      { path: '/dev/a', hostPath: join(dir, 'disk'), permissions: 'r' },
      { path: '/dev/b', hostPath: join(dir, 'link'), uid: 5, gid: 6, fileMode: 0o600 },
      { path: '/dev/c', type: 'c', major: 10, minor: 200 },
      { path: '/dev/d', type: 'u', major: 10, minor: 201, permissions: 'none' },
      { path: '/dev/e', hostPath: join(dir, 'fifo') },
    ],
  });
  t.same(linux?.devices, [
    { uid: 1000, gid: 1001, path: '/dev/a', type: 'b', major: 259, minor: 3, fileMode: 0o640 },
    { uid: 5, gid: 6, path: '/dev/b', type: 'b', major: 259, minor: 3, fileMode: 0o600 },
    { uid: 1000, gid: 1001, path: '/dev/c', type: 'c', major: 10, minor: 200 },
    { uid: 1000, gid: 1001, path: '/dev/d', type: 'u', major: 10, minor: 201 },
    { uid: 1000, gid: 1001, path: '/dev/e', type: 'p', major: 0, minor: 0, fileMode: 0o644 },
  ]);
  t.same(linux?.resources?.devices, [
    { allow: false, access: 'rwm' },
    { allow: true, type: 'b', major: 259, minor: 3, access: 'r' },
    { allow: true, type: 'b', major: 259, minor: 3, access: 'rwm' },
    { allow: true, type: 'c', major: 10, minor: 200, access: 'rwm' },
  ]);
});

void t.test('a device node that is not there, is none or is of another type', async (t) => {
  const dir = t.testdir();
  writeFileSync(join(dir, 'file'), '');
  const cases: [object, RegExp][] = [
    [{ path: '/dev/a', hostPath: join(dir, 'missing') }, /"\/dev\/a".*missing" cannot be looked at: ENOENT/],
    [{ path: '/dev/a', hostPath: join(dir, 'file') }, /is no device/],
    [{ path: '/dev/null', type: 'b' }, /is of type c, not b/],
  ];
  for (const [node, message] of cases) {
    const error = await errorOf(() => prepared({ deviceNodes: [node] }));
    t.equal(error.code, status.FAILED_PRECONDITION);
    t.match(error.message, message);
  }
});

void t.test('a device replaces the one at its place, also one of CRI', async (t) => {
  const spec = base();
  spec.linux = { ...spec.linux, devices: [{ path: '/dev/a', type: 'c', major: 1, minor: 3 }] };
  const { linux } = applyEdits(spec, await prepared({ deviceNodes: [{ path: '/dev/a', type: 'c', major: 9, minor: 9 }] }));
  t.match(linux?.devices, [{ path: '/dev/a', major: 9 }]);
  t.equal(linux?.devices?.length, 1);
});

void t.test('mounts: at their depth, in the place of what was there', async (t) => {
  const { mounts = [] } = await applied(
    { mounts: [{ hostPath: '/opt/a', containerPath: '/a/b/c', options: ['ro', 'rbind'] }, { hostPath: 'tmpfs', containerPath: '/a', type: 'tmpfs' }] },
    { mounts: [{ hostPath: '/opt/hosts', containerPath: '/etc/hosts', options: ['bind'] }] },
  );
  t.same(mounts.filter(({ destination }) => destination === '/etc/hosts'), [{ destination: '/etc/hosts', source: '/opt/hosts', options: ['bind'] }]);
  const at = (path: string) => mounts.findIndex(({ destination }) => destination === path);
  t.ok(at('/proc') === 0 && at('/a') > 0 && at('/a') < at('/a/b/c') && at('/dev') < at('/dev/shm'));
  t.same(mounts[at('/a')], { destination: '/a', type: 'tmpfs', source: 'tmpfs', options: [] });
});

void t.test('mounts in a user namespace keep the owners of the node', async (t) => {
  const spec = base();
  spec.linux = { ...spec.linux, namespaces: [{ type: 'user' }] };
  const list = [
    { hostPath: '/x', containerPath: '/1', options: ['bind'] },
    { hostPath: '/x', containerPath: '/2', options: ['rbind'] },
    { hostPath: '/x', containerPath: '/3', options: ['bind', 'idmap'] },
    { hostPath: 'tmpfs', containerPath: '/4', type: 'tmpfs' },
  ];
  const { mounts = [] } = applyEdits(spec, await prepared({ mounts: list }));
  const options = list.map(({ containerPath }) => mounts.find(({ destination }) => destination === containerPath)?.options);
  t.same(options, [['bind', 'idmap'], ['rbind', 'ridmap'], ['bind', 'idmap'], []]);
});

void t.test('hooks, network devices, RDT', async (t) => {
  const { hooks, linux } = await applied(
    { hooks: [{ hookName: 'createContainer', path: '/a', args: ['a', 'b'], env: ['X=1'], timeout: 2 }], intelRdt: { closID: 'first' } },
    {
      hooks: [{ hookName: 'createContainer', path: '/b' }, { hookName: 'poststop', path: '/c' }],
      netDevices: [{ hostInterfaceName: 'eth7', name: 'gpu0' }],
      intelRdt: { closID: 'gold', l3CacheSchema: 'L3:0=f', memBwSchema: 'MB:0=50', schemata: ['L2:0=1'], enableMonitoring: true },
    },
  );
  t.same(hooks, {
    createContainer: [{ path: '/a', args: ['a', 'b'], env: ['X=1'], timeout: 2 }, { path: '/b' }],
    poststop: [{ path: '/c' }],
  });
  t.same(linux?.netDevices, { eth7: { name: 'gpu0' } });
  t.same(linux?.intelRdt, { closID: 'gold', l3CacheSchema: 'L3:0=f', memBwSchema: 'MB:0=50', schemata: ['L2:0=1'], enableMonitoring: true });
});

void t.test('nothing to edit', async (t) => {
  t.equal(await prepareEdits([]), undefined);
  const before = base();
  const after = applyEdits(before, await prepared({ env: ['Z=1'] }));
  t.same({ ...after, process: before.process }, before, 'the rest stays');
});

void t.test('what a container asks for: the field, then the annotations, each once', async (t) => {
  const requested = (change: object) => requestedDevices(containerConfig(change));
  t.same(
    requested({
      CDIDevices: [{ name: 'v.com/c=b' }, { name: 'v.com/c=a' }, { name: 'v.com/c=b' }],
      annotations: { 'cdi.k8s.io/z': 'v.com/c=z,v.com/c=a', 'cdi.k8s.io/a': 'v.com/d=1', other: 'v.com/c=q' },
    }).map(({ name }) => name),
    ['v.com/c=b', 'v.com/c=a', 'v.com/d=1', 'v.com/c=z'],
  );
  const bad = await errorOf(() => requested({ CDIDevices: [{ name: 'v.com/c=a' }, { name: 'gpu0' }] }));
  t.equal(bad.code, status.INVALID_ARGUMENT);
  t.match(bad.message, /^config\.CDI_devices\[1\]\.name: "gpu0"/);
  t.match((await errorOf(() => requested({ annotations: { 'cdi.k8s.io/a': 'v.com/c=a,' } }))).message, /^config\.annotations\["cdi\.k8s\.io\/a"\]: ""/);
});
