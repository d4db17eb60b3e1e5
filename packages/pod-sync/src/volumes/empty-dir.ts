import { chmod, mkdir } from 'node:fs/promises';
import { wholeValue, type Quantity } from '../manifest/quantity.js';
import type { Mounter } from './mount-command.js';

/** Any container of the pod may write, whatever its user (the kubelet's mode for emptyDir). */
const MODE = 0o777;

/** Makes the directory of an emptyDir; one that is there keeps its content. In memory: a tmpfs, bounded by sizeLimit. */
export async function makeEmptyDir(
  path: string,
  source: { readonly memory: boolean; readonly sizeLimit: Quantity | undefined },
  mounter: Mounter,
  signal?: AbortSignal,
): Promise<void> {
  await mkdir(path, { recursive: true });
  if (!source.memory) return chmod(path, MODE);
  if ((await mounter.below(path)).length > 0) return;
  const size = source.sizeLimit === undefined ? {} : { sizeBytes: wholeValue(source.sizeLimit) };
  await mounter.tmpfs(path, { mode: MODE, ...size }, signal);
}
