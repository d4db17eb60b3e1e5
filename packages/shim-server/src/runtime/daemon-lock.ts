import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import koffi from 'koffi';

const flock = koffi.load(null).func('int flock(int fd, int operation)');
const LOCK_EX_NB = 2 | 4;

/** Held for as long as a daemon uses a state directory; the kernel ends it with the process. */
export class DaemonLock {
  private constructor(private readonly file: FileHandle) {}

  /** @throws Error when another daemon uses the directory */
  static async take(stateDir: string): Promise<DaemonLock> {
    await mkdir(stateDir, { recursive: true, mode: 0o711 });
    const file = await open(join(stateDir, 'lock'), 'w', 0o600);
    if (flock(file.fd, LOCK_EX_NB) !== 0) {
      await file.close();
      throw new Error(`state_dir ${stateDir}: another criquet uses it`);
    }
    return new DaemonLock(file);
  }

  async release(): Promise<void> {
    await this.file.close();
  }
}
