import 'reflect-metadata';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { captureDirectory, removePart, removeTree, restoreDirectory } from '../../src/checkpoint/checkpoint-directory.js';
import { mount, MountFlag } from '../../src/runtime/mount.js';
import { readMountInfo } from '../../src/spec/mount-info.js';
import { Layout } from '../../src/state/layout.js';

void t.test('what CRIU left mounted is unmounted, not removed through', async (t) => {
  const dir = t.testdir({ node: { cgroup: { 'cgroup.procs': '' } }, tree: { dump: { yard: {} } } });
  const yard = join(dir, 'tree/dump/yard');
  mount('tmpfs', yard, 'tmpfs', 0, '');
  await mkdir(join(yard, 'pids'));
  mount(join(dir, 'node'), join(yard, 'pids'), '', MountFlag.bind, '');
  await removeTree(join(dir, 'tree'));
  t.same(await readdir(dir), ['node']);
  t.same(await readdir(join(dir, 'node/cgroup')), ['cgroup.procs'], 'what was mounted is as it was');
  t.same((await readMountInfo()).filter(({ mountPoint }) => mountPoint.startsWith(dir)), []);
});

void t.test('the directory of both goes with the last of them', async (t) => {
  const layout = new Layout('/unused', t.testdir({}), '/unused');
  const [capture, restore] = [captureDirectory(layout, 'c'), restoreDirectory(layout, 'c')];
  for (const part of [capture, restore]) {
    await mkdir(part, { recursive: true });
    await writeFile(join(part, 'file'), '');
  }
  await removePart(capture);
  t.same(await readdir(layout.checkpoint('c')), ['restore']);
  await removePart(restore);
  await t.rejects(readdir(layout.checkpoint('c')), { code: 'ENOENT' });
  await removePart(restore);
});
