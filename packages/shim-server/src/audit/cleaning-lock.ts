import { join } from 'node:path';
import { DaemonLock } from '../runtime/daemon-lock.js';

/**
 * Held by whoever cleans a node, the daemon or `criquet audit --clean`, and by the daemon's CNI GC: GC must not run beside the DEL of another process
 * (CNI SPEC.md section 3, "Lifecycle & Ordering").
 *
 * @throws LockTaken when another holds it
 */
export function takeCleaningLock(stateDir: string): Promise<DaemonLock> {
  return DaemonLock.take(join(stateDir, 'cleaning.lock'), `state_dir ${stateDir}: somebody else is cleaning up at the moment`);
}
