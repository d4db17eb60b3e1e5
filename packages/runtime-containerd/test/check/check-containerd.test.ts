import { status } from '@grpc/grpc-js';
import t from 'tap';
import { checkContainerd, ContainerdUnusable, parseContainerdVersion } from '../../src/index.js';
import { versionProblem } from '../../src/check/containerd-version.js';
import { fixture } from '../support/fixture.js';

const overlayfs = { snapshotter: 'overlayfs' };

t.test('versions', async (t) => {
  const table: [string, string | undefined][] = [
    ['2.1.9', '2.1.9'],
    ['v2.4.2', '2.4.2'],
    ['2.1.9+unknown', '2.1.9'],
    ['1.7.24~ds1', '1.7.24'],
    ['2.2', '2.2.0'],
    ['v2.0.0-rc.1-12-gabcdef', '2.0.0'],
    ['(devel)', undefined],
    ['', undefined],
  ];
  for (const [text, expected] of table) {
    const version = parseContainerdVersion(text);
    t.equal(version && `${version.major}.${version.minor}.${version.patch}`, expected, text);
  }
  const problem = (major: number, minor: number) => versionProblem({ major, minor, patch: 0 });
  t.equal(problem(1, 6), 'it has no Transfer service; 2.1 or newer is needed');
  t.equal(problem(1, 7), 'its Transfer service cannot use hosts.toml; 2.1 or newer is needed');
  t.equal(problem(2, 0), 'it is too old; 2.1 or newer is needed');
  t.equal(problem(0, 9), 'it has no Transfer service; 2.1 or newer is needed');
  for (const [major, minor] of [[2, 1], [2, 4], [3, 0]] as const) t.equal(problem(major, minor), undefined);
});

t.test('one that can serve', async (t) => {
  const { fake, client } = await fixture(t);
  const report = await checkContainerd(client, overlayfs);
  t.match(report, {
    version: '2.1.9',
    parsedVersion: { major: 2, minor: 1, patch: 9 },
    server: { pid: process.pid },
    snapshotter: { name: 'overlayfs', root: `${fake.dir}/root/io.containerd.snapshotter.v1.overlayfs`, capabilities: ['remap-ids', 'only-remap-ids'] },
    rootDir: `${fake.dir}/root`,
    criPlugin: 'absent',
  });
  fake.plugins.push({ type: 'io.containerd.grpc.v1', id: 'cri' });
  t.equal((await checkContainerd(client, overlayfs)).criPlugin, 'loaded');
  fake.plugins.push({ type: 'io.containerd.grpc.v1', id: 'cri', error: 'no CNI' });
  fake.plugins = fake.plugins.filter(({ id, error }) => id !== 'cri' || error !== undefined);
  t.equal((await checkContainerd(client, overlayfs)).criPlugin, 'failed');
});

t.test('one that tells little', async (t) => {
  const { fake, client } = await fixture(t, { version: '(devel)' });
  fake.plugins = fake.plugins.map(({ type, id }) => ({ type, id }));
  const report = await checkContainerd(client, overlayfs);
  t.equal(report.version, '(devel)');
  for (const key of ['parsedVersion', 'rootDir'] as const) t.notOk(key in report, key);
  t.same(report.snapshotter, { name: 'overlayfs', capabilities: [] });
});

t.test('one that cannot serve says what is missing', async (t) => {
  const { fake, client } = await fixture(t, { version: '1.7.24' });
  const problem = async (snapshotter = 'overlayfs') => {
    const error = await checkContainerd(client, { snapshotter }).catch((e: unknown) => e);
    t.type(error, ContainerdUnusable);
    return (error as Error).message;
  };
  t.equal(await problem(), 'containerd 1.7.24: its Transfer service cannot use hosts.toml; 2.1 or newer is needed');
  fake.version = '2.1.9';
  t.equal(await problem('zfs'), 'containerd 2.1.9: snapshotter zfs is not loaded: disabled in its configuration, or not built in');
  fake.plugins = fake.plugins.filter(({ id }) => id !== 'transfer').map((plugin) => (plugin.id === 'overlayfs' ? { ...plugin, error: 'no overlay' } : plugin));
  t.equal(
    await problem(),
    'containerd 2.1.9: plugin io.containerd.grpc.v1.transfer is not loaded: disabled in its configuration, or not built in; snapshotter overlayfs did not start: no overlay',
  );
  fake.control.fail('version.version', { code: status.UNAVAILABLE });
  await t.rejects(checkContainerd(client, overlayfs), { name: 'ContainerdError' });
});
