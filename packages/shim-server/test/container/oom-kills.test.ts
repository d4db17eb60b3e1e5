import 'reflect-metadata';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { OomKills } from '../../src/container/oom-kills.js';
import type { EventStream } from '../../src/runtime/event-stream.js';
import type { NodeFacts } from '../../src/spec/index.js';
import type { ContainerRecord } from '../../src/state/container-record.js';
import type { Containers, NodeRoots } from '../../src/tokens.js';

const SLICE = 'kubepods.slice/kubepods-pod1.slice';
const record = (id: string, phase: ContainerRecord['phase'] = 'running') =>
  ({ id, phase, cgroupsPath: `kubepods-pod1.slice:cri-containerd:${id}` }) as ContainerRecord;

/** A pod's slice as the kernel shows it: its own `memory.events` counts all below it, also what is gone. */
function node(t: Test, records: ContainerRecord[], facts: Partial<NodeFacts> = {}) {
  const sys = t.testdir({ fs: { cgroup: { 'kubepods.slice': { 'kubepods-pod1.slice': {} } } } });
  const slice = join(sys, 'fs/cgroup', SLICE);
  const scope = (id: string): string => join(slice, `cri-containerd-${id}.scope`);
  let announce: (event: { containerId: string }) => void = () => undefined;
  const events = { on: (_: string, listener: typeof announce) => (announce = listener) };
  const containers = { all: () => records, get: (id: string) => records.find((known) => known.id === id) };
  const kills = new OomKills(
    { cgroup: 'v2', cgroupDriver: 'systemd', ...facts } as NodeFacts,
    { sys } as NodeRoots,
    events as unknown as EventStream,
    containers as unknown as Containers,
  );
  return {
    kills,
    announce: (containerId: string) => announce({ containerId }),
    inSlice: (count: number) => writeFile(join(slice, 'memory.events'), `low 0\noom ${count}\noom_kill ${count}\n`),
    inScope: async (id: string, count: number) => {
      await mkdir(scope(id), { recursive: true });
      await writeFile(join(scope(id), 'memory.events'), `oom ${count}\noom_kill ${count}\noom_group_kill 0\n`);
    },
    remove: (id: string) => rm(scope(id), { recursive: true }),
  };
}

t.test("a scope's own count, while it is there", async (t) => {
  const [a, b] = [record('a'), record('b')];
  const { kills, inSlice, inScope, remove } = node(t, [a, b]);
  await inSlice(0);
  await Promise.all([inScope('a', 0), inScope('b', 0)]);
  await kills.expect(a);
  await kills.expect(b);
  await Promise.all([inScope('a', 2), inSlice(2)]);
  t.equal(await kills.happened(a), true);
  await remove('a');
  await remove('b');
  t.equal(await kills.happened(b), false, 'what was counted in a scope is not counted again in the slice');
});

t.test("the slice's count, when systemd has removed the scope", async (t) => {
  const [a, b, c] = [record('a'), record('b'), record('c')];
  const { kills, inSlice, inScope, remove } = node(t, [a, b, c]);
  await inSlice(3);
  await kills.expect(a);
  for (const id of ['a', 'b', 'c']) await inScope(id, 0);
  await inScope('c', 1);
  await inSlice(5);
  await remove('a');
  t.equal(await kills.happened(a), true, 'three were before, one is in a scope that is there, one is left');
  await remove('b');
  t.equal(await kills.happened(b), false);
  t.equal(await kills.happened(c), true);
});

t.test('a new account begins when nothing of the pod runs', async (t) => {
  const a = record('a');
  const records = [a];
  const { kills, inSlice } = node(t, records);
  await inSlice(0);
  await kills.expect(a);
  await inSlice(1);
  t.equal(await kills.happened(a), true);
  records.splice(0);
  kills.forget(a, 'a');
  await inSlice(4);
  const next = record('next');
  await kills.expect(next);
  t.equal(await kills.happened(next), false);
});

t.test('without an account, and with other drivers, the slice says nothing', async (t) => {
  const a = record('a');
  for (const facts of [{}, { cgroupDriver: 'cgroupfs' } as const]) {
    const { kills, inSlice, announce } = node(t, [a], facts);
    await inSlice(1);
    t.equal(await kills.happened(a), false);
    announce('a');
    t.equal(await kills.happened(a), true, "containerd's event says it too");
  }
});
