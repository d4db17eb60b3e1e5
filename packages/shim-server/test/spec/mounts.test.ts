import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Mount, MountPropagation, type DeepPartial } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { containerMounts } from '../../src/spec/mount-order.js';
import { mountOf, parseMountInfo } from '../../src/spec/mount-info.js';
import { prepareMounts } from '../../src/spec/mounts.js';
import { errorOf } from './fixtures.js';

const mount = (change: DeepPartial<Mount>): Mount => Mount.fromPartial({ containerPath: '/data', ...change });

void t.test('a source with symbolic links is resolved, the destination made absolute', async (t) => {
  const dir = realpathSync(t.testdir({ real: { f: '' } }));
  symlinkSync('real', join(dir, 'link'));
  const prepared = await prepareMounts([
    mount({ hostPath: join(dir, 'link'), containerPath: 'data/', readonly: true }),
  ]);
  t.same(prepared.binds, [
    { destination: '/data', type: 'bind', source: join(dir, 'real'), options: ['rbind', 'rprivate', 'ro'] },
  ]);
  t.same(prepared.createdSources, []);
  t.equal(prepared.rootfsPropagation, undefined);
});

void t.test('a missing source becomes a directory of mode 0755', async (t) => {
  const hostPath = join(t.testdir(), 'a/b');
  const prepared = await prepareMounts([mount({ hostPath })]);
  t.same(prepared.createdSources, [hostPath]);
  t.equal(statSync(hostPath).mode & 0o7777, 0o755);
});

void t.test('sources that are of no use are named', async (t) => {
  const dir = t.testdir({ file: 'x' });
  symlinkSync('nowhere/else', join(dir, 'dangling'));
  symlinkSync('circle', join(dir, 'circle'));
  const cases: [DeepPartial<Mount>, number, RegExp][] = [
    [
      { hostPath: join(dir, 'file/below') },
      status.INVALID_ARGUMENT,
      /config\.mounts\[1\]\.host_path: .*not a directory/,
    ],
    [{ hostPath: join(dir, 'file/') }, status.INVALID_ARGUMENT, /not a directory/],
    [{ hostPath: join(dir, 'circle') }, status.INVALID_ARGUMENT, /circle/],
    [
      { hostPath: join(dir, 'dangling') },
      status.FAILED_PRECONDITION,
      /a symbolic link to something that does not exist/,
    ],
    [{ hostPath: join(dir, 'n'.repeat(300)) }, status.INVALID_ARGUMENT, /too long/],
    [{ hostPath: '' }, status.INVALID_ARGUMENT, /host_path: is empty/],
    [{ hostPath: 'relative' }, status.INVALID_ARGUMENT, /not an absolute path/],
    [{ hostPath: '/a\0b' }, status.INVALID_ARGUMENT, /NUL/],
    [{ hostPath: dir, containerPath: '' }, status.INVALID_ARGUMENT, /container_path: is empty/],
    [{ hostPath: dir, containerPath: '/x/..' }, status.INVALID_ARGUMENT, /container_path: .*root directory/],
    [{ hostPath: dir, containerPath: '/a\0' }, status.INVALID_ARGUMENT, /container_path: .*NUL/],
    [{ hostPath: dir, mountOptions: ['suid'] }, status.INVALID_ARGUMENT, /mount_options: "suid"/],
    [{ hostPath: dir, recursiveReadOnly: true }, status.INVALID_ARGUMENT, /recursive_read_only: needs readonly/],
    [
      {
        hostPath: dir,
        readonly: true,
        recursiveReadOnly: true,
        propagation: MountPropagation.PROPAGATION_BIDIRECTIONAL,
      },
      status.INVALID_ARGUMENT,
      /needs private propagation/,
    ],
    [{ hostPath: dir, readonly: true, recursiveReadOnly: true }, status.FAILED_PRECONDITION, /runtime handler/],
    [{ hostPath: dir, imageSubPath: 'a' }, status.INVALID_ARGUMENT, /image_sub_path: needs image/],
    [{ hostPath: dir, propagation: 7 as MountPropagation }, status.INVALID_ARGUMENT, /unknown mode 7/],
  ];
  for (const [change, code, message] of cases) {
    const error = await errorOf(() => prepareMounts([mount({ hostPath: dir }), mount(change)]));
    t.equal(error.code, code, error.message);
    t.match(error.message, message);
  }
});

void t.test('options of CRI and id mappings are passed on', async (t) => {
  const hostPath = realpathSync(t.testdir());
  const ids = [{ hostId: 100000, containerId: 0, length: 65536 }];
  const { binds } = await prepareMounts(
    [
      mount({
        hostPath,
        readonly: true,
        recursiveReadOnly: true,
        mountOptions: ['noexec', 'nodev', 'noexec'],
        uidMappings: ids,
        gidMappings: ids,
      }),
    ],
    { recursiveReadOnly: true, idmapped: true },
  );
  const mapped = [{ hostID: 100000, containerID: 0, size: 65536 }];
  t.same(binds[0], {
    destination: '/data',
    type: 'bind',
    source: hostPath,
    options: ['rbind', 'rprivate', 'rro', 'noexec', 'nodev'],
    uidMappings: mapped,
    gidMappings: mapped,
  });
});

void t.test('an image is bound from where it is mounted, with the options of CRI and without id mappings', async (t) => {
  const ids = [{ hostId: 100000, containerId: 0, length: 65536 }];
  const image = mount({ image: { image: 'busybox' }, readonly: true, mountOptions: ['noexec'], uidMappings: ids, gidMappings: ids });
  const { binds, createdSources } = await prepareMounts([image], { imageVolumes: new Map([[0, '/not/there/yet']]) });
  t.same(binds, [{ destination: '/data', type: 'bind', source: '/not/there/yet', options: ['rbind', 'rprivate', 'ro', 'noexec'] }]);
  t.same(createdSources, []);
});

void t.test('R4 propagation: only from a source that takes part', async (t) => {
  // Not a testdir: that one is removed before the mounts are.
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'propagation-')));
  for (const name of ['private', 'shared', 'slave']) mkdirSync(join(dir, name));
  const path = (name: string): string => join(dir, name);
  const sh = (command: string, ...args: string[]): void => void execFileSync(command, args);
  for (const name of ['private', 'shared']) sh('mount', '-t', 'tmpfs', 'tmpfs', path(name));
  t.teardown(() => {
    for (const name of ['slave', 'shared', 'private']) sh('umount', path(name));
    rmSync(dir, { recursive: true });
  });
  sh('mount', '--make-private', path('private'));
  sh('mount', '--make-shared', path('shared'));
  sh('mount', '--bind', path('shared'), path('slave'));
  sh('mount', '--make-slave', path('slave'));
  mkdirSync(path('shared/sub'));
  const prepare = (name: string, propagation: MountPropagation) =>
    prepareMounts([mount({ hostPath: path(name), propagation })]);
  const {
    PROPAGATION_BIDIRECTIONAL: both,
    PROPAGATION_HOST_TO_CONTAINER: into,
    PROPAGATION_PRIVATE: none,
  } = MountPropagation;

  t.same((await prepare('shared/sub', both)).binds[0]?.options, ['rbind', 'rshared', 'rw']);
  t.equal((await prepare('shared', both)).rootfsPropagation, 'rshared');
  t.same((await prepare('shared', into)).binds[0]?.options, ['rbind', 'rslave', 'rw']);
  t.equal((await prepare('slave', into)).rootfsPropagation, 'rslave');
  t.equal((await prepare('private', none)).rootfsPropagation, undefined);
  const refused = await errorOf(() => prepare('private', both));
  t.equal(refused.code, status.FAILED_PRECONDITION);
  t.ok(
    refused.message.includes(`config.mounts[0].propagation: "${path('private')}" is on the mount "${path('private')}"`),
  );
  t.match((await errorOf(() => prepare('slave', both))).message, /which is not shared$/);
  t.match((await errorOf(() => prepare('private', into))).message, /not shared or a slave$/);
  const mixed = await prepareMounts([
    mount({ hostPath: path('shared'), propagation: into }),
    mount({ hostPath: path('shared'), propagation: both }),
  ]);
  t.equal(mixed.rootfsPropagation, 'rshared');
});

const files = { hosts: '/pod/hosts', hostname: '/pod/hostname', resolvConf: '/pod/resolv.conf', shm: '/pod/shm' };
const bind = (destination: string) => ({ destination, type: 'bind', source: '/src', options: ['rbind'] });
const ordered = (binds: ReturnType<typeof bind>[], change: Partial<Parameters<typeof containerMounts>[0]> = {}) =>
  containerMounts({
    requested: { binds, createdSources: [] },
    cgroupMountOptions: ['rw', 'nsdelegate', 'memory_recursiveprot'],
    files,
    volumes: [],
    privileged: false,
    readonlyRootfs: false,
    ownCgroupNamespace: true,
    ...change,
  });

void t.test('order: default file systems, then shallow destinations before deep ones', (t) => {
  const all = ordered([bind('/data/a/b'), bind('/data')], { volumes: [{ containerPath: 'vol', hostPath: '/v' }] });
  t.same(
    all.map(({ destination }) => destination),
    [
      '/proc',
      '/dev',
      '/dev/pts',
      '/dev/mqueue',
      '/sys',
      '/sys/fs/cgroup',
      '/data',
      '/vol',
      '/etc/hosts',
      '/etc/hostname',
    ].concat(['/etc/resolv.conf', '/dev/shm', '/data/a/b']),
  );
  t.match(all.find(({ destination }) => destination === '/sys')?.options, ['nosuid', 'noexec', 'nodev', 'ro']);
  t.end();
});

void t.test('a CRI mount replaces the default at its place, /dev everything below it', (t) => {
  const destinations = (binds: string[]) =>
    ordered(binds.map(bind)).map(({ destination, source }) => `${destination}=${source}`);
  const own = destinations(['/etc/hosts', '/etc/hostname/', '/etc/resolv.conf', '/dev/shm', '/sys/fs/cgroup']);
  for (const path of ['/etc/hosts', '/etc/hostname/', '/etc/resolv.conf', '/dev/shm', '/sys/fs/cgroup']) {
    t.ok(own.includes(`${path}=/src`));
  }
  t.notOk(
    own.some((entry) => entry.includes('=/pod/')),
    'none of the pod files is left',
  );
  const dev = destinations(['/dev']);
  t.notOk(dev.some((entry) => entry.startsWith('/dev/pts') || entry.startsWith('/dev/mqueue')));
  t.ok(dev.includes('/dev/shm=/pod/shm'));
  t.end();
});

void t.test('privileged and read-only root', (t) => {
  const options = (list: ReturnType<typeof ordered>, path: string) =>
    list.find(({ destination }) => destination === path)?.options;
  const privileged = ordered([], { privileged: true, ownCgroupNamespace: false });
  t.ok(options(privileged, '/sys')?.includes('rw'));
  t.same(options(privileged, '/sys/fs/cgroup'), [
    'nosuid',
    'noexec',
    'nodev',
    'relatime',
    'rw',
    'nsdelegate',
    'memory_recursiveprot',
  ]);
  t.same(options(ordered([]), '/sys/fs/cgroup'), ['nosuid', 'noexec', 'nodev', 'relatime', 'ro']);
  const readonly = ordered([], { readonlyRootfs: true });
  t.same(options(readonly, '/etc/hosts'), ['rbind', 'rprivate', 'ro']);
  t.same(options(readonly, '/dev/shm'), ['rbind', 'rprivate', 'rw', 'nosuid', 'nodev', 'noexec']);
  t.end();
});

void t.test('mountinfo', (t) => {
  const text = [
    '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
    '23 22 0:5 / /mnt/a\\040b rw master:3 propagate_from:1 - tmpfs tmpfs rw,size=1k',
    '24 22 0:6 / /mnt/a\\040b rw - tmpfs tmpfs rw',
    'rubbish',
    '',
  ].join('\n');
  const mounts = parseMountInfo(text);
  t.equal(mounts.length, 3);
  t.same(mounts[1], {
    mountPoint: '/mnt/a b',
    type: 'tmpfs',
    source: 'tmpfs',
    optionalFields: ['master:3', 'propagate_from:1'],
    superOptions: ['rw', 'size=1k'],
  });
  t.same(mountOf('/mnt/a b/c', mounts)?.optionalFields, [], 'the last of several at one place');
  t.equal(mountOf('/mnt/a bc', mounts)?.source, '/dev/sda1');
  t.equal(mountOf('/x', []), undefined);
  t.end();
});

void t.test('files are sources too', async (t) => {
  const dir = realpathSync(t.testdir());
  writeFileSync(join(dir, 'f'), '');
  t.equal((await prepareMounts([mount({ hostPath: join(dir, 'f') })])).binds[0]?.source, join(dir, 'f'));
});

void t.test('user namespace: volumes of the image are mapped, files of the pod are not', (t) => {
  const userns = { uids: { hostId: 7, length: 10 }, gids: { hostId: 8, length: 11 } };
  const all = ordered([], { volumes: [{ containerPath: '/vol', hostPath: '/v' }], userns });
  t.same(
    all.filter(({ uidMappings, gidMappings }) => uidMappings ?? gidMappings),
    [
      {
        destination: '/vol',
        type: 'bind',
        source: '/v',
        options: ['rbind', 'rprivate', 'rw'],
        uidMappings: [{ containerID: 0, hostID: 7, size: 10 }],
        gidMappings: [{ containerID: 0, hostID: 8, size: 11 }],
      },
    ],
  );
  t.end();
});
