import { remapLabels } from '@criquet/runtime-containerd';
import { idMappings, type PodUserNamespace } from '../spec/index.js';

/** What makes a root file system belong to the user namespace of its pod. */
export function snapshotLabels(userns: PodUserNamespace | undefined): Record<string, string> {
  return userns === undefined ? {} : remapLabels(idMappings(userns.uids), idMappings(userns.gids));
}
