import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../harness/run.js';

const BALLAST = 'ballast';
const CHUNK = Buffer.alloc(64 * 1024, 'x');

/** A file system in memory that a test can fill, with nothing but its own on it. */
export class SmallDisk {
  private constructor(readonly directory: string) {}

  /** Mounts one over a directory, which is made where it is absent. */
  static async over(directory: string, { megabytes = 4, files = 2_000 } = {}): Promise<SmallDisk> {
    await mkdir(directory, { recursive: true });
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,nr_inodes=${files},mode=711`, 'tmpfs', directory]);
    return new SmallDisk(directory);
  }

  /** Not a byte can be written any more and no file made. @returns how many bytes and files it took */
  async fill(): Promise<{ bytes: number; files: number }> {
    const ballast = join(this.directory, BALLAST);
    await mkdir(ballast);
    let [bytes, files] = [0, 0];
    const file = await open(join(ballast, 'bytes'), 'w');
    for (const size of [CHUNK.length, 1]) {
      for (;;) {
        const { bytesWritten } = await file.write(CHUNK, 0, size).catch(() => ({ bytesWritten: 0 }));
        if (bytesWritten === 0) break;
        bytes += bytesWritten;
      }
    }
    await file.close();
    while (await writeFile(join(ballast, String(files)), '').then(() => true, () => false)) files += 1;
    return { bytes, files };
  }

  /** The room is there again. */
  async free(): Promise<void> {
    await rm(join(this.directory, BALLAST), { recursive: true, force: true });
  }

  /** Takes it away with everything on it. */
  async unmount(): Promise<void> {
    await run('umount', [this.directory]);
  }

  /** What is on it beside the ballast. */
  async names(): Promise<string[]> {
    return (await readdir(this.directory, { recursive: true })).filter((name) => !name.startsWith(BALLAST)).sort();
  }
}
