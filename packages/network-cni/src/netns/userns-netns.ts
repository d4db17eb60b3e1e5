import { writeFileSync } from 'node:fs';
import { insideNetns } from './inside-netns.js';
import type { UsernsWork } from './netns-messages.js';
import type { IdMapping } from './netns-provider.js';
import { createPin, releasePinned, setUp } from './pinned-netns.js';
import { step } from './step-error.js';
import type { Syscalls } from './syscalls.js';
import { UsernsChild } from './userns-child.js';

/**
 * Makes a user namespace, and inside of it a network namespace with `lo` up, and pins both. Leaves neither when a step fails.
 *
 * The network namespace comes after the id maps: the kernel decides at its birth whom the files of /proc/net and /sys/class/net belong to.
 */
export async function createPinnedInUserns(
  system: Syscalls,
  home: number,
  path: string,
  sysctls: Readonly<Record<string, string>>,
  userns: UsernsWork,
): Promise<void> {
  createPin(path);
  try {
    createPin(userns.path);
    const child = await UsernsChild.start(userns.program, hostRoot(userns.uids));
    try {
      const { proc } = child;
      step('write the user id map', () => writeFileSync(`${proc}/uid_map`, idMap(userns.uids)));
      step('write the group id map', () => writeFileSync(`${proc}/gid_map`, idMap(userns.gids)));
      step('pin the user namespace', () => system.bindMount(`${proc}/ns/user`, userns.path));
      await child.makeNetns();
      step('pin', () => system.bindMount(`${proc}/ns/net`, path));
    } finally {
      await child.end();
    }
    insideNetns(system, home, path, () => setUp(system, sysctls));
  } catch (error) {
    for (const pin of [path, userns.path]) {
      try {
        releasePinned(system, pin);
      } catch {
        // the first failure is the one to report; whoever asked for the namespace releases it again
      }
    }
    throw error;
  }
}

/** user_namespaces(7): "id inside, id outside, length" a line. */
function idMap(mappings: readonly IdMapping[]): string {
  return mappings.map(({ containerId, hostId, length }) => `${containerId} ${hostId} ${length}\n`).join('');
}

function hostRoot(uids: readonly IdMapping[]): number {
  return uids.find(({ containerId }) => containerId === 0)?.hostId ?? 0;
}
