import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckpointContainerRequest, DeepPartial } from '@criquet/cri-api';
import { list } from 'tar';
import type { Test } from 'tap';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

export const RUNNING = 2;

export interface Counter {
  readonly shim: Shim;
  readonly pod: string;
  readonly container: string;
  /** Where archives go. */
  readonly dir: string;
  readonly location: string;
  readonly before: string[];
  checkpoint(change?: DeepPartial<CheckpointContainerRequest>): Promise<unknown>;
}

/** A running container that has changed its root file system. */
export async function counter(t: Test, options: Parameters<typeof Shim.start>[0] = {}): Promise<Counter> {
  const shim = await Shim.start(options);
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const container = await shim.startContainer(pod);
  await writeFile(join(rootfs(shim, container), 'count'), '7');
  await rm(join(rootfs(shim, container), 'etc/group'));
  const dir = join(shim.dir, 'archives');
  await mkdir(dir);
  const location = join(dir, 'counter.tar');
  const checkpoint = (change: DeepPartial<CheckpointContainerRequest> = {}) =>
    shim.cri.runtime.checkpointContainer({ containerId: container, location, timeout: 0n, ...change });
  return { shim, pod, container, dir, location, before: await present(shim), checkpoint };
}

export function rootfs(shim: Shim, container: string): string {
  return shim.containerd.state(NAMESPACE).snapshotsOf('overlayfs').get(container)?.dir ?? '';
}

export function taskStatus(shim: Shim, container: string): number {
  return shim.containerd.process(NAMESPACE, container).status;
}

export async function entries(file: string): Promise<string[]> {
  const names: string[] = [];
  await list({ file, onReadEntry: ({ path }) => names.push(path) });
  return names;
}

/** Everything of the pods that are there, without what went and came meanwhile. */
export async function present(shim: Shim): Promise<string[]> {
  return (await shim.leftovers()).filter((line) => !/ADDs, /.test(line));
}

/** That a failed checkpoint has left nothing: no file, no lease, no pause. */
export async function expectNothing(t: Test, { shim, container, dir, before }: Counter): Promise<void> {
  await eventually(async () => {
    const left = [...(await readdir(dir)), ...(await present(shim)).filter((line) => !before.includes(line))];
    if (left.length > 0 || taskStatus(shim, container) !== RUNNING) throw new Error(left.join(', '));
  });
  t.equal(taskStatus(shim, container), RUNNING, 'it goes on');
}
