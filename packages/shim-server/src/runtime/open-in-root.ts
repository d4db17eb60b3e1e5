import { constants } from 'node:fs';
import { open, readlink, type FileHandle } from 'node:fs/promises';

/** Linux' O_PATH: a handle on a name that opens nothing. Not among Node's constants. */
const O_PATH = 0o10000000;
/** The kernel's own limit (path_resolution(7)). */
const MAX_LINKS = 40;

/** The symbolic links of a path go round in a circle, or there are too many of them. */
export class TooManyLinks extends Error {
  override readonly name = 'TooManyLinks';

  constructor(path: string) {
    super(`${path} has too many symbolic links`);
  }
}

/**
 * Finds a path as a process would whose root directory is `root`: symbolic links, absolute ones and `..` too, never lead out
 * (what openat2's RESOLVE_IN_ROOT does). Each part is opened relative to the one before, so that nothing changes between a
 * look and its use.
 *
 * @param use gets a handle of the kind O_PATH on what was found, for `stat` and for `/proc/self/fd/N`; undefined when nothing
 * is there. The handle is closed afterwards.
 * @throws TooManyLinks
 */
export async function openInRoot<T>(root: string, path: string, use: (found: FileHandle | undefined) => Promise<T>): Promise<T> {
  const walk = new RootWalk(await open(root, O_PATH | constants.O_DIRECTORY));
  try {
    return await use(await walk.open(path));
  } finally {
    await walk.close();
  }
}

class RootWalk {
  /** From the root down to where the walk is. */
  private readonly stack: FileHandle[];

  constructor(root: FileHandle) {
    this.stack = [root];
  }

  async open(path: string): Promise<FileHandle | undefined> {
    const pending = path.split('/');
    let links = 0;
    while (pending.length > 0) {
      const name = pending.shift();
      if (name === undefined || name === '' || name === '.') continue;
      if (name === '..') {
        await this.up();
        continue;
      }
      const place = `/proc/self/fd/${this.top().fd}/${name}`;
      const next = await openOrMissing(place);
      if (next === undefined) return undefined;
      this.stack.push(next);
      if ((await next.stat()).isSymbolicLink()) {
        await this.up();
        links += 1;
        if (links > MAX_LINKS) throw new TooManyLinks(path);
        const target = await readlink(place);
        if (target.startsWith('/')) while (this.stack.length > 1) await this.up();
        pending.unshift(...target.split('/'));
      }
    }
    return this.top();
  }

  async close(): Promise<void> {
    for (const handle of this.stack.splice(0)) await handle.close();
  }

  private top(): FileHandle {
    const handle = this.stack.at(-1);
    if (handle === undefined) throw new Error('walk is closed');
    return handle;
  }

  /** One level up; above the root is the root. */
  private async up(): Promise<void> {
    if (this.stack.length > 1) await this.stack.pop()?.close();
  }
}

async function openOrMissing(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, O_PATH | constants.O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
