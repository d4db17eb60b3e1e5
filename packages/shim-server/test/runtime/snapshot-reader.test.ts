import { chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'tap';
import { readSnapshot } from '../../src/runtime/snapshot-reader.js';

test('a snapshot for a user namespace is read as its files lie there', async (t) => {
  const dir = t.testdir({});
  const layers = ['upper', 'work', 'top', 'bottom'].map((name) => join(dir, name));
  const [upper = '', work = '', top = '', bottom = ''] = layers;
  for (const layer of layers) await mkdir(layer);
  const mountPoints = join(dir, 'mounts');
  await mkdir(mountPoints);
  await writeFile(join(top, 'passwd'), 'top', { mode: 0o600 });
  await writeFile(join(bottom, 'group'), 'bottom');
  await chown(join(bottom, 'group'), 0, 42);
  const ids = ['uidmap=0:200000:65536', 'gidmap=0:300000:65536'];
  for (const lowerdir of [`${top}:${bottom}`, top]) {
    const options = [...ids, `workdir=${work}`, `upperdir=${upper}`, `lowerdir=${lowerdir}`];
    const found = await readSnapshot([{ type: 'overlay', source: 'overlay', target: '', options }], mountPoints, (root) => readFile(join(root, 'passwd'), 'utf8'));
    t.equal(found, 'top', lowerdir);
  }
  t.same(await readdir(mountPoints), []);
});
