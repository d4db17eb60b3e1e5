import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import koffi from 'koffi';
import { makeDirectories } from './make-directories.js';

const flock = koffi.load(null).func('int flock(int fd, int operation)');
const LOCK_EX_NB = 2 | 4;
/** Texts are laid over one another and not cut off, so that a full disk has the room for the next one too. */
const TEXT_BYTES = 64;

/** Another process holds a lock. */
export class LockTaken extends Error {
  override readonly name = 'LockTaken';
}

/** Held for as long as a daemon uses something that two must not share; the kernel ends it with the process. */
export class DaemonLock {
  private constructor(
    private readonly handle: FileHandle,
    private readonly text: string,
  ) {}

  /**
   * @param file made where it is absent, and left there.
   * @param taken the message of the LockTaken that is thrown when another daemon holds it.
   * @param text of at most 64 bytes; it stands in the file, followed by blanks, until the lock is released, or longer when the process is killed.
   */
  static async take(file: string, taken: string, text = ''): Promise<DaemonLock> {
    await makeDirectories(dirname(file), 0o711);
    // Not emptied by opening it: what its holder wrote stays.
    const handle = await open(file, constants.O_RDWR | constants.O_CREAT, 0o600);
    if (flock(handle.fd, LOCK_EX_NB) !== 0) {
      await handle.close();
      throw new LockTaken(taken);
    }
    const lock = new DaemonLock(handle, text);
    try {
      if (text !== '') await lock.write(text);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return lock;
  }

  async release(): Promise<void> {
    if (this.text !== '') await this.write('').catch(() => undefined);
    await this.handle.close();
  }

  private async write(text: string): Promise<void> {
    await this.handle.write(text.padEnd(TEXT_BYTES), 0);
  }
}
