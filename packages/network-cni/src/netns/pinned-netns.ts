import { closeSync, mkdirSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { sysctlPath } from './sysctls.js';
import type { Syscalls } from './syscalls.js';

/** A step that failed, in a form that passes between threads. */
export class StepError extends Error {
  override readonly name = 'StepError';

  constructor(
    readonly step: string,
    readonly code: string,
    readonly reason: string,
    /** The thread is stuck in a namespace that is not its own: it must not be used again. */
    readonly threadLost = false,
  ) {
    super(`${step}: ${reason}`);
  }
}

/**
 * Makes a network namespace with `lo` up, pins it at `path` and returns the calling thread to `home`, an open file of its own
 * namespace. Synchronous on purpose: nothing else may run on the thread meanwhile. Removes the pin when a step fails.
 *
 * The pin inherits the propagation of the mount that its directory lies in, as containerd's pins do: where that is shared, as systemd
 * makes `/`, other mount namespaces see it too; where it is private, only this one does. The mount table gets no entry but the pin.
 */
export function createPinned(system: Syscalls, home: number, path: string, sysctls: Readonly<Record<string, string>>): void {
  step('make the directory', () => mkdirSync(dirname(path), { recursive: true, mode: 0o755 }));
  step('create the pin', () => closeSync(openSync(path, 'wx', 0o444)));
  try {
    step('unshare', () => system.unshareNet());
    try {
      step('bring lo up', () => system.bringLoopbackUp());
      for (const [name, value] of Object.entries(sysctls)) {
        // /proc/sys/net shows the namespace of the thread that opens it
        step(`sysctl ${name}`, () => writeFileSync(sysctlPath(name), value, { flag: 'w' }));
      }
      step('pin', () => system.bindMount('/proc/thread-self/ns/net', path));
    } finally {
      step('return to the own namespace', () => system.enterNet(home), true);
    }
  } catch (error) {
    try {
      releasePinned(system, path);
    } catch {
      // the first failure is the one to report; whoever asked for the namespace releases it again
    }
    throw error;
  }
}

/** Unmounts and removes a pin. Succeeds when there is none, and removes a plain file in its place. */
export function releasePinned(system: Syscalls, path: string): void {
  step('unmount the pin', () => {
    // a path can be mounted over more than once
    while (done(() => system.detach(path), ['EINVAL', 'ENOENT', 'ENOTDIR']));
  });
  step('remove the pin', () => done(() => unlinkSync(path), ['ENOENT', 'ENOTDIR']));
}

/** Whether `work` succeeded; false for the given errno names, other errors go on. */
function done(work: () => void, expected: readonly string[]): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (expected.includes(codeOf(error))) return false;
    throw error;
  }
}

function step(name: string, work: () => unknown, threadLost = false): void {
  try {
    work();
  } catch (error) {
    throw new StepError(name, codeOf(error), error instanceof Error ? error.message : String(error), threadLost);
  }
}

/** The errno name of an error, or "". */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
