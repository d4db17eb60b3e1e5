import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:net';
import t from 'tap';
import { MountPropagation } from '@criquet/cri-api';
import { checkHostPath } from '../../src/volumes/host-path.js';
import { containerMounts } from '../../src/volumes/container-mounts.js';
import { renderHosts, writeHosts } from '../../src/volumes/etc-hosts.js';
import { mountPoints, systemMounter } from '../../src/volumes/mount-command.js';
import { payloadFiles, writePayload } from '../../src/volumes/payload.js';
import { PodDirectory } from '../../src/volumes/pod-directory.js';
import { prepareVolumes } from '../../src/volumes/prepare-volumes.js';
import { bindSubPath } from '../../src/volumes/sub-path.js';
import { tearDownPodDirectory } from '../../src/volumes/tear-down.js';
import { FakeMounter, firstContainer, manifest } from '../fixtures.js';

const mode = (path: string) => statSync(path).mode & 0o7777;

/** A directory for what mounts are made in: below the system's directory for temporary files, removed afterwards. */
function scratch(t: { teardown(fn: () => unknown): void }): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'pod-sync-')));
  t.teardown(async () => {
    for (const point of await systemMounter.below(dir)) await systemMounter.unmount(point);
    rmSync(dir, { recursive: true });
  });
  return dir;
}

await t.test('hostPath types', async (t) => {
  const dir = t.testdir({ file: 'x', dir: {}, link: t.fixture('symlink', 'dir') });
  const socket = join(tmpdir(), `pod-sync-${process.pid}.sock`);
  const server = createServer().listen(socket);
  t.teardown(() => server.close());
  const check = (name: string, type: Parameters<typeof checkHostPath>[2]) => checkHostPath('v', name.startsWith('/') ? name : join(dir, name), type);

  await check('nothing', '');
  await check('dir', 'Directory');
  await check('link', 'Directory');
  await check('file', 'File');
  await check('/dev/null', 'CharDevice');
  await check(socket, 'Socket');
  await check('new/deep', 'DirectoryOrCreate');
  t.ok(statSync(join(dir, 'new/deep')).isDirectory());
  await check('new-file', 'FileOrCreate');
  t.ok(statSync(join(dir, 'new-file')).isFile());
  await check('file', 'FileOrCreate');
  t.equal(readFileSync(join(dir, 'file'), 'utf8'), 'x', 'an existing file keeps its content');

  const wrong: [string, Parameters<typeof checkHostPath>[2], string][] = [
    ['nothing', 'Directory', `volume "v": hostPath ${join(dir, 'nothing')} cannot be read (ENOENT), type Directory wants a directory`],
    ['file', 'Directory', `volume "v": hostPath ${join(dir, 'file')} is not a directory, as type Directory wants`],
    ['dir', 'File', `volume "v": hostPath ${join(dir, 'dir')} is not a file, as type File wants`],
    ['dir', 'FileOrCreate', `volume "v": hostPath ${join(dir, 'dir')} is not a file, as type FileOrCreate wants`],
    ['file', 'DirectoryOrCreate', `volume "v": hostPath ${join(dir, 'file')} is not a directory, as type DirectoryOrCreate wants`],
    ['/dev/null', 'BlockDevice', 'volume "v": hostPath /dev/null is not a block device, as type BlockDevice wants'],
    ['file', 'Socket', `volume "v": hostPath ${join(dir, 'file')} is not a unix socket, as type Socket wants`],
  ];
  for (const [name, type, message] of wrong) await t.rejects(check(name, type), { message, name: 'VolumeError' });
});

await t.test('files of a ConfigMap or Secret', async (t) => {
  const object = { kind: 'ConfigMap', name: 'c', namespace: 'default', type: '', data: { a: Buffer.from('1') }, binaryData: { b: Buffer.from('2') } } as const;
  t.same(payloadFiles('v', object, undefined, 0o644, false).map((f) => [f.path, f.mode]), [['a', 0o644], ['b', 0o644]]);
  const items = [{ key: 'b', path: 'deep/b', mode: 0o400 }];
  t.same(payloadFiles('v', object, items, 0o644, false).map((f) => [f.path, f.mode]), [['deep/b', 0o400]]);
  t.same(payloadFiles('v', undefined, undefined, 0o644, true), []);
  t.same(payloadFiles('v', object, [{ key: 'z', path: 'z', mode: undefined }], 0o644, true), []);
  t.throws(() => payloadFiles('v', object, [{ key: 'z', path: 'z', mode: undefined }], 0o644, false), { message: 'volume "v": there is no key "z"' });
});

await t.test('a payload is exchanged as a whole', async (t) => {
  const dir = join(t.testdir({}), 'v');
  const file = (path: string, content: string, fileMode = 0o644) => ({ path, content: Buffer.from(content), mode: fileMode });
  await writePayload(dir, [file('a', 'one', 0o400), file('deep/b', 'two')]);
  t.equal(readFileSync(join(dir, 'a'), 'utf8'), 'one');
  t.equal(readFileSync(join(dir, 'deep/b'), 'utf8'), 'two');
  t.equal(mode(join(dir, 'a')), 0o400);
  t.equal(readlinkSync(join(dir, 'a')), '..data/a');
  const first = readlinkSync(join(dir, '..data'));
  const inode = lstatSync(join(dir, first)).ino;
  await writePayload(dir, [file('a', 'one', 0o400), file('deep/b', 'two')]);
  t.equal(lstatSync(join(dir, first)).ino, inode, 'nothing is written when nothing changed');
  await writePayload(dir, [file('a', 'new', 0o400), file('c', 'three')]);
  t.equal(readFileSync(join(dir, 'a'), 'utf8'), 'new');
  t.same(readdirSync(dir).filter((name) => !name.startsWith('..')).sort(), ['a', 'c']);
  t.notOk(readdirSync(dir).includes(first), 'the old version is gone');
  t.same(readdirSync(dir).filter((name) => name.startsWith('..')).length, 2);
});

await t.test('hosts file', async (t) => {
  const base = { podIps: ['10.0.0.2', 'fd00::2'], hostname: 'p', domain: '', aliases: [], hostNetwork: false };
  const lines = renderHosts(base, '').split('\n');
  t.ok(lines.includes('127.0.0.1\tlocalhost'));
  t.ok(lines.includes('10.0.0.2\tp'));
  t.ok(lines.includes('fd00::2\tp'));
  const full = renderHosts({ ...base, domain: 'sub.ns.svc', aliases: [{ ip: '192.0.2.1', hostnames: ['a', 'b'] }] }, '').split('\n');
  t.ok(full.includes('10.0.0.2\tp.sub.ns.svc\tp'));
  t.ok(full.includes('192.0.2.1\ta\tb'));
  const host = renderHosts({ ...base, hostNetwork: true }, '127.0.0.1 me\n');
  t.ok(host.includes('127.0.0.1 me\n'));
  t.notOk(host.includes('10.0.0.2'));
  const dir = t.testdir({});
  await writeHosts(join(dir, 'pod/etc-hosts'), { ...base, hostNetwork: true });
  t.ok(readFileSync(join(dir, 'pod/etc-hosts'), 'utf8').length > 50);
  t.equal(mode(join(dir, 'pod/etc-hosts')), 0o644);
});

await t.test('mount points of a directory', async (t) => {
  const info = [
    '21 1 8:1 / / rw - ext4 /dev/x rw',
    '22 21 0:5 / /pods/a rw - tmpfs tmpfs rw',
    '23 22 0:6 / /pods/a/in\\040side rw - tmpfs tmpfs rw',
    '24 21 0:7 / /pods/ab rw - tmpfs tmpfs rw',
    '',
  ].join('\n');
  t.same(mountPoints(info, '/pods/a'), ['/pods/a/in side', '/pods/a'], 'the innermost first');
});

await t.test('volumes of a pod', async (t) => {
  const dir = t.testdir({});
  const directory = new PodDirectory(dir, 'u');
  const m = manifest(
    `
securityContext: {fsGroup: 4321}
containers: [{name: a, image: b}]
volumes:
  - {name: plain, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 8Mi}}
  - {name: host, hostPath: {path: /dev/null, type: CharDevice}}
  - {name: config, configMap: {name: c, items: [{key: k, path: sub/k, mode: 0400}]}}
  - {name: secret, secret: {secretName: s, defaultMode: 0440}}
  - {name: absent, secret: {secretName: none, optional: true}}`,
    `---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {k: v}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {password: hidden}`,
  );
  const mounter = new FakeMounter();
  const paths = await prepareVolumes(m, directory, mounter);
  t.equal(paths.get('host'), '/dev/null');
  t.equal(paths.get('plain'), join(dir, 'pods/u/volumes/kubernetes.io~empty-dir/plain'));
  t.equal(mode(paths.get('plain') as string), 0o2777);
  t.equal(statSync(paths.get('plain') as string).gid, 4321);
  t.equal(readFileSync(join(paths.get('config') as string, 'sub/k'), 'utf8'), 'v');
  t.equal(mode(join(paths.get('config') as string, 'sub/k')), 0o440, 'the group may read; a ConfigMap is not written to');
  t.equal(statSync(join(paths.get('secret') as string, 'password')).gid, 4321);
  t.same(readdirSync(paths.get('absent') as string).filter((name) => !name.startsWith('..')), []);
  t.same(
    mounter.mounts.map(({ target, options }) => [target.split('/').at(-1), options]),
    [
      ['memory', { mode: 0o777, sizeBytes: 8_388_608n }],
      ['secret', { mode: 0o777 }],
      ['absent', { mode: 0o777 }],
    ],
    'Secrets never reach a disk',
  );
  writeFileSync(join(paths.get('plain') as string, 'kept'), '');
  await prepareVolumes(m, directory, mounter);
  t.equal(mounter.mounts.length, 3, 'what is mounted stays');
  t.ok(readdirSync(paths.get('plain') as string).includes('kept'));

  await tearDownPodDirectory(directory.path, mounter);
  t.same(mounter.mounts, []);
  t.notOk(readdirSync(join(dir, 'pods')).includes('u'));
});

await t.test('fsGroup: files of a volume of data become readable by the group, others writable too', async (t) => {
  const m = manifest(
    `
securityContext: {fsGroup: 4321}
containers: [{name: a, image: b}]
volumes:
  - {name: plain, emptyDir: {}}
  - {name: private, configMap: {name: c, defaultMode: 0400}}
  - {name: open, configMap: {name: c, defaultMode: 0444}}
  - {name: usual, configMap: {name: c}}
  - {name: secret, secret: {secretName: s, defaultMode: 0400}}`,
    `---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {k: v}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {k: hidden}`,
  );
  const directory = new PodDirectory(t.testdir({}), 'u');
  const paths = await prepareVolumes(m, directory, new FakeMounter());
  const fileMode = (volume: string) => mode(join(paths.get(volume) as string, 'k'));
  t.same(['private', 'open', 'usual', 'secret'].map(fileMode), [0o440, 0o444, 0o644, 0o440]);
  t.equal(mode(paths.get('private') as string), 0o2777);
  writeFileSync(join(paths.get('plain') as string, 'k'), '', { mode: 0o600 });
  await prepareVolumes(m, directory, new FakeMounter());
  t.equal(fileMode('plain'), 0o660);
});

await t.test('a failure names the volume', async (t) => {
  const m = manifest('containers: [{name: a, image: b}]\nvolumes: [{name: m, emptyDir: {medium: Memory}}]');
  const mounter = Object.assign(new FakeMounter(), { tmpfs: () => Promise.reject(new Error('no permission')) });
  await t.rejects(prepareVolumes(m, new PodDirectory(t.testdir({}), 'u'), mounter), { name: 'VolumeError', message: 'volume "m": no permission' });
});

await t.test('nothing is deleted while something is mounted', async (t) => {
  const dir = t.testdir({ pods: { u: { keep: 'x' } } });
  const mounter = new FakeMounter();
  await mounter.bind('/', join(dir, 'pods/u/mnt'));
  const stuck = Object.assign(mounter, { unmount: () => Promise.resolve() });
  await t.rejects(tearDownPodDirectory(join(dir, 'pods/u'), stuck), /is not removed: still mounted: .*pods\/u\/mnt/);
  t.equal(readFileSync(join(dir, 'pods/u/keep'), 'utf8'), 'x');
});

await t.test('mounts of a container', async (t) => {
  const dir = t.testdir({ vol: {} });
  const directory = new PodDirectory(dir, 'u');
  const sources = (extra: object = {}) => ({
    directory,
    volumes: new Map([['v', join(dir, 'vol')]]),
    environment: new Map([['POD', 'p-1']]),
    mounter: new FakeMounter(),
    ...extra,
  });
  const mounts = async (volumeMounts: string, spec = '', from = sources()) => {
    const m = manifest(`containers: [{name: a, image: b, volumeMounts: ${volumeMounts}}]\nvolumes: [{name: v}]\n${spec}`);
    return containerMounts(m.pod, firstContainer(m), from);
  };
  const [volume, hosts, message] = await mounts('[{name: v, mountPath: data, readOnly: true, recursiveReadOnly: Enabled, mountPropagation: HostToContainer}]');
  t.match(volume, {
    containerPath: '/data',
    hostPath: join(dir, 'vol'),
    readonly: true,
    recursiveReadOnly: true,
    propagation: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
    selinuxRelabel: false,
  });
  t.match(hosts, { containerPath: '/etc/hosts', hostPath: join(dir, 'pods/u/etc-hosts') });
  t.equal(message?.containerPath, '/dev/termination-log');
  t.match(message?.hostPath, new RegExp(`^${join(dir, 'pods/u/containers/a')}/[0-9a-f]{8}$`));
  t.equal(mode(message?.hostPath ?? ''), 0o666);

  const own = await mounts('[{name: v, mountPath: /etc/hosts}]');
  t.same(own.map((mount) => mount.containerPath), ['/etc/hosts', '/dev/termination-log'], 'a volume replaces the hosts file');
  const host = await mounts('[]', 'hostNetwork: true');
  t.same(host.map((mount) => mount.containerPath), ['/dev/termination-log'], "the node's file in the node's network");
  const aliases = await mounts('[]', 'hostNetwork: true\nhostAliases: [{ip: 192.0.2.1, hostnames: [a]}]');
  t.equal(aliases[0]?.containerPath, '/etc/hosts');
  const relabel = await mounts('[{name: v, mountPath: /a}]', 'securityContext: {seLinuxOptions: {type: t}}');
  t.equal(relabel[0]?.selinuxRelabel, true);

  const from = sources();
  const [sub] = await mounts('[{name: v, mountPath: /a, subPathExpr: logs/$(POD)}]', '', from);
  t.equal(sub?.hostPath, join(dir, 'pods/u/volume-subpaths/v/a/0'));
  t.ok(statSync(join(dir, 'vol/logs/p-1')).isDirectory(), 'a missing subPath is made');
  t.equal(from.mounter.mounts[0]?.target, sub?.hostPath);
  await t.rejects(mounts('[{name: v, mountPath: /a, subPathExpr: $(NONE)}]'), /subPathExpr refers to "NONE"/);
  await t.rejects(mounts('[{name: v, mountPath: /a, subPathExpr: $(POD)}]', '', sources({ environment: new Map([['POD', '../x']]) })), /leads out of the volume/);
  await t.rejects(mounts('[{name: v, mountPath: /a}]', '', sources({ volumes: new Map() })), { message: 'volume "v": is not in spec.volumes' });
});

await t.test('no termination message file when the path is empty', async (t) => {
  const m = manifest('containers: [{name: a, image: b, terminationMessagePath: ""}]');
  const mounts = await containerMounts(m.pod, firstContainer(m), {
    directory: new PodDirectory(t.testdir({}), 'u'),
    volumes: new Map(),
    environment: new Map(),
    mounter: new FakeMounter(),
  });
  t.same(mounts.map((mount) => mount.containerPath), ['/etc/hosts']);
});

await t.test('subPath: what is bound is inside the volume, whatever links say', async (t) => {
  const dir = scratch(t);
  const vol = join(dir, 'vol');
  mkdirSync(join(vol, 'real'), { recursive: true });
  writeFileSync(join(vol, 'real/file'), 'content');
  mkdirSync(join(dir, 'outside'));
  symlinkSync('real', join(vol, 'inner'));
  symlinkSync(join(dir, 'outside'), join(vol, 'outer'));
  symlinkSync('nowhere', join(vol, 'dangling'));
  const bind = (subPath: string, name: string) => bindSubPath('v', vol, subPath, join(dir, 'targets', name), systemMounter);

  t.equal(readFileSync(join(await bind('real', '1'), 'file'), 'utf8'), 'content');
  t.equal(readFileSync(await bind('real/file', '2'), 'utf8'), 'content', 'a file too');
  t.equal(readFileSync(join(await bind('inner', '3'), 'file'), 'utf8'), 'content', 'a link that stays inside');
  chmodSync(vol, 0o2777);
  await bind('new/deep', '4');
  t.equal(mode(join(vol, 'new')), 0o2777, "what is made has the volume's mode");
  t.equal(mode(join(vol, 'new/deep')), 0o2777);
  t.ok(statSync(join(vol, 'new/deep')).isDirectory());
  await t.rejects(bind('outer', '5'), { message: 'volume "v": subPath "outer" leads out of the volume' });
  await t.rejects(bind('outer/x', '6'), /leads out of the volume/);
  await t.rejects(bind('dangling', '7'), /ENOENT/);

  // Exchanged after it was bound: the target still shows what was checked.
  rmSync(join(vol, 'real'), { recursive: true });
  symlinkSync(join(dir, 'outside'), join(vol, 'real'));
  writeFileSync(join(dir, 'outside/file'), 'stolen');
  t.same(readdirSync(join(dir, 'targets/1')), []);
  rmSync(join(vol, 'real'));
  mkdirSync(join(vol, 'real'));
  writeFileSync(join(vol, 'real/file'), 'again');
  t.equal(readFileSync(join(await bind('real', '1'), 'file'), 'utf8'), 'again', 'bound anew');

  await tearDownPodDirectory(join(dir, 'targets'), systemMounter);
  t.notOk(readdirSync(dir).includes('targets'));
  t.equal(readFileSync(join(vol, 'real/file'), 'utf8'), 'again', 'the volume is untouched');
});

await t.test('a tmpfs with a limit', async (t) => {
  const dir = join(scratch(t), 'tmpfs');
  mkdirSync(dir);
  await systemMounter.tmpfs(dir, { mode: 0o777, sizeBytes: 65_536n });
  t.same(await systemMounter.below(dir), [dir]);
  t.equal(mode(dir), 0o777);
  t.throws(() => writeFileSync(join(dir, 'big'), Buffer.alloc(200_000)), { code: 'ENOSPC' });
  await systemMounter.unmount(dir);
  t.same(await systemMounter.below(dir), []);
});
