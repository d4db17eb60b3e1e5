import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import koffi from 'koffi';

const flock = koffi.load(null).func('int flock(int fd, int operation)');
const LOCK_EX_NB = 2 | 4;

/** Held for as long as a daemon uses something that two must not share; the kernel ends it with the process. */
export class DaemonLock {
  private constructor(private readonly handle: FileHandle) {}

  /**
   * @param file made where it is absent, and left there.
   * @param taken the message when another daemon holds it.
   * @param text stands in the file until the lock is released, or longer when the process is killed.
   */
  static async take(file: string, taken: string, text = ''): Promise<DaemonLock> {
    await mkdir(dirname(file), { recursive: true, mode: 0o711 });
    // Not emptied by opening it: what its holder wrote stays.
    const handle = await open(file, 'a', 0o600);
    if (flock(handle.fd, LOCK_EX_NB) !== 0) {
      await handle.close();
      throw new Error(taken);
    }
    await handle.truncate();
    await handle.write(text);
    return new DaemonLock(handle);
  }

  async release(): Promise<void> {
    await this.handle.truncate();
    await this.handle.close();
  }
}
