import { setTimeout as sleep } from 'node:timers/promises';
import type { LifecycleHook } from '../manifest/pod.js';
import type { CriCalls } from './cri-calls.js';

/** A lifecycle hook that failed. */
export class HookError extends Error {
  override readonly name = 'HookError';
}

/** Runs a hook inside a container, for at most `limitMs`. @throws HookError when its command exits with another code than 0. */
export async function runHook(
  hook: LifecycleHook,
  container: { readonly id: string; readonly name: string },
  calls: CriCalls,
  limitMs: number,
): Promise<void> {
  if (hook.type === 'sleep') {
    await sleep(Math.min(hook.seconds * 1000, limitMs), undefined, calls.signal === undefined ? {} : { signal: calls.signal });
    return;
  }
  const timeout = BigInt(Math.max(1, Math.ceil(limitMs / 1000)));
  const request = { containerId: container.id, cmd: [...hook.command], timeout };
  const { exitCode } = await calls.runtime('execSync', container.name, request, limitMs + 2000);
  if (exitCode !== 0) throw new HookError(`hook of container ${container.name} exited with code ${exitCode}`);
}

/** Reads the preStop hook that a container carries in its annotation (Kubernetes' LifecycleHandler as JSON). */
export function parseHook(json: string | undefined): LifecycleHook | undefined {
  if (json === undefined) return undefined;
  try {
    const handler = JSON.parse(json) as { exec?: { command?: unknown }; sleep?: { seconds?: unknown } };
    const command = handler.exec?.command;
    if (Array.isArray(command) && command.every((word) => typeof word === 'string')) return { type: 'exec', command };
    const seconds = handler.sleep?.seconds;
    return typeof seconds === 'number' ? { type: 'sleep', seconds } : undefined;
  } catch {
    // Written by somebody else in another form; a kubelet ignores it too.
    return undefined;
  }
}
