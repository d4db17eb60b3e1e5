import { chmod, lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Gives everything in a volume to the pod's fsGroup: files readable (and writable) by the group, directories also with the
 * set-group-id bit, so that what is created in them belongs to the group too. Symbolic links are not followed.
 */
export async function giveToGroup(path: string, gid: number): Promise<void> {
  const stat = await lstat(path);
  await lchown(path, stat.uid, gid);
  if (stat.isSymbolicLink()) return;
  const mode = stat.mode & 0o7777;
  await chmod(path, stat.isDirectory() ? mode | 0o2770 : mode | 0o660);
  if (!stat.isDirectory()) return;
  for (const name of await readdir(path)) await giveToGroup(join(path, name), gid);
}
