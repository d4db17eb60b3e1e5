import { status } from '@grpc/grpc-js';
import { basename } from 'node:path';
import t from 'tap';
import { cgroupDirectory } from '../../src/spec/cgroup-directory.js';
import { cgroupOwner, cgroupPath } from '../../src/spec/cgroup-path.js';
import { errorOf } from './fixtures.js';

const cgroupfs = { driver: 'cgroupfs', namespace: 'k8s.io' } as const;
const systemd = { driver: 'systemd', namespace: 'k8s.io' } as const;

void t.test('R3 cgroup parent under cgroupfs', async (t) => {
  t.equal(cgroupPath('/a/b', 'id', cgroupfs), '/a/b/id');
  t.equal(cgroupPath('a/b/', 'id', cgroupfs), '/a/b/id');
  t.equal(cgroupPath('', 'id', cgroupfs), '/k8s.io/id');
  for (const parent of ['a-b.slice', '/a.slice/a-b.slice']) {
    const error = await errorOf(() => cgroupPath(parent, 'id', cgroupfs));
    t.equal(error.code, status.INVALID_ARGUMENT);
    t.match(error.message, /cgroup_parent: .*systemd slice.*cgroupfs driver/);
  }
});

void t.test('R3 cgroup parent under systemd', async (t) => {
  t.equal(cgroupPath('a-b.slice', 'id', systemd), 'a-b.slice:cri-containerd:id');
  t.equal(cgroupPath('/a.slice/a-b.slice', 'id', systemd), 'a-b.slice:cri-containerd:id');
  t.equal(cgroupPath('', 'id', systemd), 'system.slice:cri-containerd:id');
  const error = await errorOf(() => cgroupPath('/a/b', 'id', systemd));
  t.equal(error.code, status.INVALID_ARGUMENT);
  t.match(error.message, /no systemd slice.*systemd cgroup driver/);
});

void t.test('a parent that climbs or breaks the form is refused', async (t) => {
  t.match((await errorOf(() => cgroupPath('/a/../../b', 'id', cgroupfs))).message, /"\.\."/);
  t.match((await errorOf(() => cgroupPath('/a:b', 'id', cgroupfs))).message, /":"/);
});

void t.test('where a cgroup is in the file system', (t) => {
  const v1 = { cgroup: 'v1' } as const;
  const v2 = { cgroup: 'v2' } as const;
  t.equal(cgroupDirectory('/a/b/id', v1, 'memory'), '/sys/fs/cgroup/memory/a/b/id');
  t.equal(
    cgroupDirectory('a-b.slice:cri-containerd:id', v2, 'memory'),
    '/sys/fs/cgroup/a.slice/a-b.slice/cri-containerd-id.scope',
  );
  t.end();
});

t.test('the id in a cgroup\'s name', async (t) => {
  const id = '0123456789abcdef'.repeat(4);
  for (const driver of ['cgroupfs', 'systemd'] as const) {
    for (const parent of ['', driver === 'systemd' ? 'kubepods-pod1.slice' : '/kubepods/pod1']) {
      const directory = cgroupDirectory(cgroupPath(parent, id, { driver, namespace: 'k8s.io' }), { cgroup: 'v2' }, '', '');
      t.equal(cgroupOwner(basename(directory)), id, directory);
    }
  }
  for (const name of ['pod1', `crio-${id}.scope`, `cri-containerd-${id}`, `${id}.scope`, id.slice(1), `${id}0`, 'kubepods.slice']) t.equal(cgroupOwner(name), undefined, name);
});
