import { rm } from 'node:fs/promises';
import type { Mounter } from './mount-command.js';

/**
 * Removes a pod's directory with all mounts in it. Nothing is deleted while a mount remains: deletion would reach into what is
 * mounted there, perhaps a directory of the machine.
 */
export async function tearDownPodDirectory(path: string, mounter: Mounter, signal?: AbortSignal): Promise<void> {
  for (const point of await mounter.below(path)) await mounter.unmount(point, signal);
  const left = await mounter.below(path);
  if (left.length > 0) throw new Error(`${path} is not removed: still mounted: ${left.join(', ')}`);
  await rm(path, { recursive: true, force: true });
}
