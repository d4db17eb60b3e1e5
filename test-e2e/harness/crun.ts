import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from './environment.js';

/** Where a hybrid set-up has its unified hierarchy. */
const UNIFIED = '/sys/fs/cgroup/unified';

/**
 * The path of a crun that runs on this machine. It refuses a hybrid set-up whose unified hierarchy has controllers; there it is run through a script that
 * takes that hierarchy out of its sight.
 *
 * @param directory for the script.
 */
export async function crunProgram({ crunDir }: Environment, directory: string): Promise<string> {
  const crun = join(crunDir, 'crun');
  const controllers = await readFile(join(UNIFIED, 'cgroup.controllers'), 'utf8').catch(() => '');
  if (controllers.trim() === '') return crun;
  const script = join(directory, 'crun');
  const inside = `umount -l ${UNIFIED}; exec ${crun} "$@"`;
  await writeFile(script, `#!/bin/sh\nexec unshare --mount --propagation private sh -c '${inside}' crun "$@"\n`, { mode: 0o755 });
  return script;
}
