import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CriquetConfig } from '../config/index.js';
import { isObjectId } from '../state/object-id.js';

/**
 * Where OCI runtimes keep the state of containers that exist, by whoever they were made: containerd's shims (whichever containerd started them), Docker,
 * CRI-O and Podman. Below some of them is a directory a namespace.
 */
const STATE_DIRECTORIES = ['/run/containerd/runc', '/run/docker/runtime-runc', '/run/runc', '/run/crun'];

/**
 * The ids of the containers that some OCI runtime knows. An id among them is somebody's, also when no containerd within reach tells whose.
 */
export async function runtimeStateIds({ runtime: { handlers } }: Pick<CriquetConfig, 'runtime'>): Promise<ReadonlySet<string>> {
  const own = Object.values(handlers).flatMap(({ root }) => (root === '' ? [] : [root]));
  const ids = new Set<string>();
  await Promise.all([...STATE_DIRECTORIES, ...own].map(collect));
  return ids;

  async function collect(directory: string): Promise<void> {
    const names = await readdir(directory).catch((): string[] => []);
    for (const name of names.filter(isObjectId)) ids.add(name);
    const namespaces = names.filter((name) => !isObjectId(name));
    const below = await Promise.all(namespaces.map((name) => readdir(join(directory, name)).catch((): string[] => [])));
    for (const name of below.flat().filter(isObjectId)) ids.add(name);
  }
}
