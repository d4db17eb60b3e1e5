import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories } from '../runtime/make-directories.js';

/**
 * Which containerd the things below `root_dir` have their records in, by its UUID. With another one all of them look as if they had no owner: somebody
 * may have pointed criquet at it for a moment, so nothing is removed by itself then.
 */
export class KnownContainerd {
  private readonly file: string;

  constructor(private readonly rootDir: string) {
    this.file = join(rootDir, 'containerd-uuid');
  }

  /** Its UUID; undefined where none has been there yet. */
  async uuid(): Promise<string | undefined> {
    return (await readFile(this.file, 'utf8').catch(() => '')).trim() || undefined;
  }

  /** Whether it is the one that was there before; the first one is. */
  async is(uuid: string): Promise<boolean> {
    const known = await this.uuid();
    if (known === undefined) await this.become(uuid);
    return known === undefined || known === uuid;
  }

  async become(uuid: string): Promise<void> {
    await makeDirectories(this.rootDir, 0o711);
    await writeFile(`${this.file}.new`, `${uuid}\n`, { mode: 0o600 });
    await rename(`${this.file}.new`, this.file);
  }
}
