import { access } from 'node:fs/promises';

/**
 * Whether there is something at a path that this process may use.
 *
 * @param mode of access(2). Default: that it is there
 */
export function pathExists(path: string, mode?: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
