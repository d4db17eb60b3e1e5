import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { shimOf, shimProcesses } from '../../src/runtime/shim-processes.js';

const shim = (namespace: string, id: string) => ['/usr/bin/containerd-shim-runc-v2', '-namespace', namespace, '-id', id, '-address', '/run/containerd/containerd.sock'];

test('a shim is known by its command line', (t) => {
  t.same(shimOf(shim('k8s.io', 'abc')), { namespace: 'k8s.io', id: 'abc', address: '/run/containerd/containerd.sock' });
  t.equal(shimOf(['/usr/bin/containerd', '-id', 'abc']), undefined);
  t.equal(shimOf([]), undefined);
  t.end();
});

test('those of a namespace, by what they were started for', async (t) => {
  const proc = await mkdtemp(join(tmpdir(), 'criquet-proc-'));
  t.teardown(() => rm(proc, { recursive: true }));
  const process = async (pid: number, command: readonly string[]) => {
    await mkdir(join(proc, String(pid)));
    await writeFile(join(proc, String(pid), 'cmdline'), command.map((word) => `${word}\0`).join(''));
    await writeFile(join(proc, String(pid), 'stat'), `${pid} (a) b) S 1 0`);
  };
  await process(11, shim('k8s.io', 'pod'));
  await process(12, shim('moby', 'other'));
  await process(13, ['sleep', '-namespace', 'k8s.io', '-id', 'pod']);
  await process(14, shim('k8s.io', 'pod'));
  await mkdir(join(proc, '15'));
  t.same([...(await shimProcesses(proc, 'k8s.io'))], [['pod', [11, 14]]]);
});
