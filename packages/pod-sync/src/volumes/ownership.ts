import { chmod, lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Mode bits that are added to files and directories (the kubelet's, in SetVolumeOwnership); what a file allows already stays. */
const ADDED = {
  writable: { file: 0o660, directory: 0o2770 },
  // A ConfigMap or Secret is not written to by its pod.
  readOnly: { file: 0o440, directory: 0o2550 },
} as const;

/**
 * Gives everything in a volume to the pod's fsGroup: files readable (and in a writable volume writable) by the group, directories
 * also with the set-group-id bit, so that what is created in them belongs to the group too. Symbolic links are not followed.
 */
export async function giveToGroup(path: string, gid: number, kind: keyof typeof ADDED): Promise<void> {
  const stat = await lstat(path);
  await lchown(path, stat.uid, gid);
  if (stat.isSymbolicLink()) return;
  const added = ADDED[kind];
  await chmod(path, (stat.mode & 0o7777) | (stat.isDirectory() ? added.directory : added.file));
  if (!stat.isDirectory()) return;
  for (const name of await readdir(path)) await giveToGroup(join(path, name), gid, kind);
}
