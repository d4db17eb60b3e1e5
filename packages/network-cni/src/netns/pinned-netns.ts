import { closeSync, mkdirSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf, step } from './step-error.js';
import { sysctlPath } from './sysctls.js';
import type { Syscalls } from './syscalls.js';

/**
 * Makes a network namespace with `lo` up, pins it at `path` and returns the calling thread to `home`, an open file of its own
 * namespace. Synchronous on purpose: nothing else may run on the thread meanwhile. Removes the pin when a step fails.
 *
 * The pin inherits the propagation of the mount that its directory lies in, as containerd's pins do: where that is shared, as systemd
 * makes `/`, other mount namespaces see it too; where it is private, only this one does. The mount table gets no entry but the pin.
 */
export function createPinned(system: Syscalls, home: number, path: string, sysctls: Readonly<Record<string, string>>): void {
  createPin(path);
  try {
    step('unshare', () => system.unshareNet());
    try {
      setUp(system, sysctls);
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

/** Makes the empty file that a namespace is to be mounted on. */
export function createPin(path: string): void {
  step('make the directory', () => mkdirSync(dirname(path), { recursive: true, mode: 0o711 }));
  step('create the pin', () => closeSync(openSync(path, 'wx', 0o444)));
}

/** What every new network namespace gets; for a thread that is inside of it. */
export function setUp(system: Syscalls, sysctls: Readonly<Record<string, string>>): void {
  step('bring lo up', () => system.bringLoopbackUp());
  for (const [name, value] of Object.entries(sysctls)) {
    // /proc/sys/net shows the namespace of the thread that opens it
    step(`sysctl ${name}`, () => writeFileSync(sysctlPath(name), value, { flag: 'w' }));
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
