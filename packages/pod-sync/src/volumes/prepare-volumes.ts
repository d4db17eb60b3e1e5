import { findObject } from '../manifest/check-references.js';
import type { Manifest, Volume } from '../manifest/pod.js';
import { checkHostPath } from './host-path.js';
import { makeEmptyDir } from './empty-dir.js';
import type { Mounter } from './mount-command.js';
import { giveToGroup } from './ownership.js';
import { payloadFiles, writePayload } from './payload.js';
import type { PodDirectory } from './pod-directory.js';
import { VolumeError } from './volume-error.js';

/** The path on this machine of each volume by name. */
export type VolumePaths = ReadonlyMap<string, string>;

/**
 * Makes every volume of a pod ready to be mounted. Volumes that are ready already are left alone; a changed ConfigMap or Secret
 * is written anew.
 *
 * @throws VolumeError naming the volume.
 */
export async function prepareVolumes(
  manifest: Manifest,
  directory: PodDirectory,
  mounter: Mounter,
  signal?: AbortSignal,
): Promise<VolumePaths> {
  const paths = new Map<string, string>();
  for (const volume of manifest.pod.spec.volumes) {
    try {
      paths.set(volume.name, await prepare(manifest, volume, directory, mounter, signal));
    } catch (error) {
      if (error instanceof VolumeError) throw error;
      throw new VolumeError(volume.name, error instanceof Error ? error.message : String(error), { cause: error });
    }
  }
  return paths;
}

async function prepare(
  manifest: Manifest,
  { name, source }: Volume,
  directory: PodDirectory,
  mounter: Mounter,
  signal: AbortSignal | undefined,
): Promise<string> {
  if (source.type === 'hostPath') {
    await checkHostPath(name, source.path, source.pathType);
    return source.path;
  }
  const path = directory.volume(source.type, name);
  if (source.type === 'emptyDir') {
    await makeEmptyDir(path, source, mounter, signal);
  } else {
    // A Secret never reaches a disk.
    if (source.type === 'secret') await makeEmptyDir(path, { memory: true, sizeLimit: undefined }, mounter, signal);
    const files = payloadFiles(name, findObject(manifest, source), source.items, source.defaultMode, source.optional);
    await writePayload(path, files);
  }
  const { fsGroup } = manifest.pod.spec.securityContext;
  if (fsGroup !== undefined) await giveToGroup(path, fsGroup, source.type === 'emptyDir' ? 'writable' : 'readOnly');
  return path;
}
