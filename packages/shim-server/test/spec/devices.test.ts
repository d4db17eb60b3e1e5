import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Device, type DeepPartial } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { deviceOwner, resolveDevices } from '../../src/spec/devices.js';
import { errorOf } from './fixtures.js';

const device = (change: DeepPartial<Device>): Device => Device.fromPartial({ permissions: 'rw', ...change });
const plain = { privileged: false };
const DENY = { allow: false, access: 'rwm' };

function makeNodes(dir: string): void {
  const mknod = (...args: string[]): void => void execFileSync('mknod', args);
  mknod('-m', '640', join(dir, 'disk'), 'b', '259', '300');
  mknod('-m', '666', join(dir, 'null'), 'c', '1', '3');
  mknod(join(dir, 'sub/tty'), 'c', '5', '0');
  mknod(join(dir, 'sub/fifo'), 'p');
  mknod(join(dir, 'console'), 'c', '5', '1');
  mknod(join(dir, 'pts/0'), 'c', '136', '0');
  writeFileSync(join(dir, 'file'), '');
  symlinkSync('disk', join(dir, 'by-name'));
}

void t.test('nothing asked for: everything is forbidden', async (t) => {
  t.same(await resolveDevices([], plain), { devices: [], rules: [DENY] });
});

void t.test('device nodes, by link and by directory', async (t) => {
  const dir = t.testdir({ sub: {}, pts: {} });
  makeNodes(dir);
  const { devices, rules } = await resolveDevices(
    [
      device({ hostPath: join(dir, 'by-name'), containerPath: '/dev/xvda', permissions: 'r' }),
      device({ hostPath: dir, containerPath: '/dev/all', permissions: '' }),
    ],
    plain,
  );
  t.same(devices[0], { path: '/dev/xvda', type: 'b', major: 259, minor: 300, fileMode: 0o640, uid: 0, gid: 0 });
  t.same(
    devices
      .slice(1)
      .map(({ path }) => path)
      .sort(),
    ['/dev/all/disk', '/dev/all/null', '/dev/all/sub/tty'],
  );
  t.same(rules[0], DENY);
  t.same(rules[1], { allow: true, type: 'b', major: 259, minor: 300, access: 'r' });
  t.match(
    rules.find(({ minor, major }) => major === 1 && minor === 3),
    { allow: true, type: 'c', access: 'rwm' },
  );
  t.equal(rules.length, 5);
});

void t.test('without a container path the device stays where it is; a place is taken once', async (t) => {
  const { devices } = await resolveDevices(
    [device({ hostPath: '/dev/zero' }), device({ hostPath: '/dev/null', containerPath: '/dev/zero' })],
    plain,
  );
  t.match(devices, [{ path: '/dev/zero', major: 1, minor: 5 }]);
  t.equal(devices.length, 1);
});

void t.test('privileged: every device of the node, and all of them allowed', async (t) => {
  const dir = t.testdir({ sub: {}, pts: {}, shm: {} });
  makeNodes(dir);
  const { devices, rules } = await resolveDevices([], { privileged: true }, dir);
  t.same(devices.map(({ path }) => path).sort(), [join(dir, 'disk'), join(dir, 'null'), join(dir, 'sub/tty')]);
  t.same(rules, [DENY, { allow: true, access: 'rwm' }]);
  const real = await resolveDevices([], { privileged: true });
  t.ok(real.devices.some(({ path }) => path === '/dev/null'));
  t.notOk(real.devices.some(({ path }) => /^\/dev\/(pts|shm|mqueue)\/|^\/dev\/console$/.test(path)));
});

void t.test('ownership from the security context: what was asked for, not what a privileged container has anyway', async (t) => {
  const dir = t.testdir({ sub: {}, pts: {} });
  makeNodes(dir);
  const owner = { uid: 1000, gid: 2000 };
  const { devices } = await resolveDevices([device({ hostPath: join(dir, 'disk'), containerPath: '/dev/x' })], { privileged: true, owner }, dir);
  t.match(devices[0], { path: '/dev/x', uid: 1000, gid: 2000 });
  t.match(devices.find(({ path }) => path === join(dir, 'null')), { uid: 0, gid: 0 });
  t.same(deviceOwner({ runAsUser: { value: 1000n }, runAsGroup: { value: 0n } }), { uid: 1000 });
  t.same(deviceOwner({ runAsUser: undefined, runAsGroup: { value: 7n } }), { gid: 7 });
  t.same(deviceOwner(undefined), {});
  t.equal((await errorOf(() => deviceOwner({ runAsUser: { value: 2n ** 31n }, runAsGroup: undefined }))).code, status.INVALID_ARGUMENT);
});

void t.test('bad requests are named', async (t) => {
  const dir = t.testdir({ file: '' });
  const cases: [DeepPartial<Device>, RegExp][] = [
    [{ hostPath: '/dev/null', permissions: 'rx' }, /config\.devices\[0\]\.permissions: "rx"/],
    [{ hostPath: '/dev/null', permissions: 'rr' }, /permissions/],
    [{ hostPath: 'null' }, /host_path: "null" is not an absolute path/],
    [{ hostPath: '/dev/null', containerPath: 'x' }, /container_path/],
    [{ hostPath: join(dir, 'missing') }, /host_path: ".*missing" does not exist/],
    [{ hostPath: join(dir, 'file') }, /is not a device/],
    [{ hostPath: join(dir, 'file/x') }, /ENOTDIR/],
  ];
  for (const [change, message] of cases) {
    const error = await errorOf(() => resolveDevices([device(change)], plain));
    t.equal(error.code, status.INVALID_ARGUMENT);
    t.match(error.message, message);
  }
});
