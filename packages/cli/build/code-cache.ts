import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Has a bundle write down what V8 made of it, with the Node.js and the flags that `scripts/criquet` runs it with. Reading a configuration loads the daemon's modules.
 *
 * @param root the checkout whose bundle it is
 */
export async function writeCodeCache(root: string): Promise<void> {
  const env = { ...process.env, CRIQUET_WRITE_CODE_CACHE: '1', CRIQUET_UNBUNDLED: '' };
  await promisify(execFile)(join(root, 'scripts/criquet'), ['config', 'check', '--config', '/dev/null'], { env });
}
