import { rm } from 'node:fs/promises';
import type { ContainerRecord, PodRecord, SandboxRecord } from '../status/pod-record.js';
import type { CriCalls } from './cri-calls.js';

/** What the kubelet's garbage collection would remove of a pod. */
export interface Garbage {
  readonly containers: readonly ContainerRecord[];
  readonly sandboxes: readonly SandboxRecord[];
}

/** Of each container the newest dead one is kept, for its log and exit code; of the sandboxes the newest and every one in use. */
export function findGarbage({ sandboxes, containers }: PodRecord): Garbage {
  const kept = new Set<string>();
  const dead: ContainerRecord[] = [];
  for (const container of containers) {
    if (container.state === 'running' || container.state === 'unknown') continue;
    if (kept.has(container.name)) dead.push(container);
    kept.add(container.name);
  }
  const removed = new Set(dead.map((container) => container.id));
  const inUse = new Set(containers.filter((container) => !removed.has(container.id)).map((container) => container.sandboxId));
  const unused = sandboxes.slice(1).filter((sandbox) => !sandbox.ready && !inUse.has(sandbox.id));
  return { containers: dead, sandboxes: unused };
}

export async function removeGarbage(garbage: Garbage, calls: CriCalls): Promise<void> {
  for (const container of garbage.containers) {
    await calls.runtime('removeContainer', container.name, { containerId: container.id });
    if (container.logPath !== '') await rm(container.logPath, { force: true });
  }
  for (const sandbox of garbage.sandboxes) {
    await calls.runtime('removePodSandbox', sandbox.name, { podSandboxId: sandbox.id });
  }
}
