import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Copies the built command into a directory that is not there yet, as an upgrade puts a program beside the one that runs.
 *
 * @param checkout whose build is copied; what it depends on stays there
 * @returns the path of its `criquet`
 */
export async function copyProgram(checkout: string, directory: string): Promise<string> {
  await mkdir(join(directory, 'scripts'), { recursive: true });
  await cp(join(checkout, 'scripts/criquet'), join(directory, 'scripts/criquet'));
  // Links of packages lead there by relative paths.
  await symlink(join(checkout, 'node_modules'), join(directory, 'node_modules'));
  for (const name of await readdir(join(checkout, 'packages'))) {
    for (const part of ['package.json', 'dist', 'node_modules']) {
      const from = join(checkout, 'packages', name, part);
      await cp(from, join(directory, 'packages', name, part), { recursive: true, verbatimSymlinks: true, filter: (source) => !source.includes('/dist/test') });
    }
  }
  return join(directory, 'scripts/criquet');
}
