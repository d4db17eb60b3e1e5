import 'reflect-metadata';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test, type Test } from 'tap';
import { CgroupMoves } from '../../src/runtime/cgroup-moves.js';
import type { NodeRoots } from '../../src/tokens.js';

const V1 = '9:name=systemd:/s\n2:cpu,cpuacct:/criquet\n1:memory:/m\n0::/unified\n';
const V2 = '0::/system.slice/criquet.service\n';

function node(t: Test, cgroup: 'v1' | 'v2', own: string, directory: string) {
  const root = t.testdir({ proc: { self: { cgroup: own } } });
  mkdirSync(join(root, 'sys/fs/cgroup', directory), { recursive: true });
  writeFileSync(join(root, 'sys/fs/cgroup', directory, 'cgroup.procs'), '77\n');
  const roots = { proc: join(root, 'proc'), sys: join(root, 'sys') } as NodeRoots;
  return { moves: new CgroupMoves({ cgroup }, roots), written: () => readFile(join(root, 'sys/fs/cgroup', directory, 'cgroup.procs'), 'utf8') };
}

for (const [cgroup, own, directory] of [['v1', V1, 'cpu/criquet'], ['v2', V2, 'system.slice/criquet.service']] as const) {
  test(`${cgroup}: the daemon is moved to where it is`, async (t) => {
    const { moves, written } = node(t, cgroup, own, directory);
    moves.expect();
    await pause(50);
    t.equal(await written(), '07\n', 'without truncation, as the kernel takes it');
  });

  test(`${cgroup}: it is moved once for what is expected within ten milliseconds`, async (t) => {
    const { moves, written } = node(t, cgroup, own, directory);
    const times: number[] = [];
    let now = 1_000;
    t.intercept(performance, 'now', { value: () => now });
    const reads = t.capture(moves as unknown as { own: () => string | undefined }, 'own', CgroupMoves.prototype['own' as never]);
    for (const ms of [0, 9, 1, 10]) {
      now += ms;
      moves.expect();
      times.push(reads().length);
    }
    t.same(times, [1, 0, 1, 1]);
    await pause(20);
    t.equal(await written(), '07\n');
  });
}

test('where it cannot be, it is not tried again', async (t) => {
  const { moves, written } = node(t, 'v2', '0::/elsewhere\n', 'here');
  moves.expect();
  await pause(50);
  t.equal(await written(), '77\n');
  const gone = node(t, 'v2', '1:cpu:/\n', 'here');
  gone.moves.expect();
  gone.moves.expectAfterShim();
  await pause(50);
  t.equal(await gone.written(), '77\n');
});

test('after the start of a shim', async (t) => {
  const { moves, written } = node(t, 'v2', V2, 'system.slice/criquet.service');
  moves.expectAfterShim();
  t.equal(await written(), '77\n');
  await pause(100);
  t.equal(await written(), '07\n');
});
