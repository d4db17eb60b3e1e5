import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Copies the built command into a directory that is not there yet, as an upgrade puts a program beside the one that runs.
 *
 * @param checkout whose bundle is copied
 * @returns the path of its `criquet`
 */
export async function copyProgram(checkout: string, directory: string): Promise<string> {
  const bundle = 'packages/cli/dist/bundle';
  await mkdir(join(directory, 'scripts'), { recursive: true });
  await cp(join(checkout, 'scripts/criquet'), join(directory, 'scripts/criquet'));
  await cp(join(checkout, bundle), join(directory, bundle), { recursive: true });
  return join(directory, 'scripts/criquet');
}
