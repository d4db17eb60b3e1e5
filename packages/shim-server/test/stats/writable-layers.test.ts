import 'reflect-metadata';
import type { Containerd, ContainerdReport } from '@criquet/runtime-containerd';
import { test, type Test } from 'tap';
import type { CriquetConfig } from '../../src/config/index.js';
import { WritableLayers } from '../../src/stats/writable-layers.js';
import type { ContainerRecord } from '../../src/state/container-record.js';

const CONTAINER = { id: 'c', snapshotter: 'overlayfs' } as ContainerRecord;

function layers(t: Test) {
  let now = 0;
  t.intercept(performance, 'now', { value: () => now });
  const sizes: ((size: bigint) => void)[] = [];
  const usage = () => new Promise((resolve) => sizes.push((size) => resolve({ size, inodes: 1n })));
  const measured = new WritableLayers({ rootDir: '/' } as CriquetConfig, { snapshots: { usage } } as unknown as Containerd, { snapshotters: new Map() } as unknown as ContainerdReport);
  return {
    sizes,
    pass: (ms: number) => void (now += ms),
    size: async (ended = false) => (await measured.of(CONTAINER, ended))?.usedBytes?.value,
    settled: () => new Promise((resolve) => setImmediate(resolve)),
  };
}

test('figures are good for ten seconds, and for half a minute while new ones are measured behind the answer', async (t) => {
  const { sizes, pass, size, settled } = layers(t);
  const first = size();
  await settled();
  sizes[0]?.(10n);
  t.equal(await first, 10n, 'the first call waits');
  pass(9_999);
  t.equal(await size(), 10n);
  t.equal(sizes.length, 1);
  pass(1);
  t.equal(await size(), 10n, 'the last figures, at once');
  t.equal(await size(), 10n);
  await settled();
  t.equal(sizes.length, 2, 'measured once');
  sizes[1]?.(20n);
  await settled();
  t.equal(await size(), 20n);
});

test('older figures than that, and those of a container that has ended, are waited for', async (t) => {
  const { sizes, pass, size, settled } = layers(t);
  const first = size();
  await settled();
  sizes[0]?.(10n);
  await first;
  pass(30_000);
  const second = size();
  await settled();
  sizes[1]?.(20n);
  t.equal(await second, 20n);
  pass(10_000);
  const last = size(true);
  await settled();
  sizes[2]?.(30n);
  t.equal(await last, 30n);
  pass(100_000);
  t.equal(await size(true), 30n, 'it cannot change any more');
  t.equal(sizes.length, 3);
});
