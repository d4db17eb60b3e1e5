import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Layout } from '../state/layout.js';
import { writeProgram } from '../static-program/write-program.js';
import { pauseProgram } from './pause-program.js';
import { makeDirectories } from '../runtime/make-directories.js';

/** Where runc mounts things: the root is mounted read-only, so they must be there. */
const MOUNT_POINTS = ['dev', 'proc', 'sys', 'etc'];

/**
 * Lays out the root of the built-in pause container and returns its path. The directory is named after the program's digest:
 * an upgraded criquet lays out its own and leaves running pods theirs.
 */
export async function layOutPauseRoot(layout: Layout): Promise<string> {
  const program = pauseProgram();
  const root = layout.pauseRoot(createHash('sha256').update(program).digest('hex').slice(0, 16));
  await makeDirectories(root, 0o755);
  for (const directory of MOUNT_POINTS) await makeDirectories(join(root, directory), 0o755);
  await writeProgram(join(root, 'pause'), program);
  return root;
}
