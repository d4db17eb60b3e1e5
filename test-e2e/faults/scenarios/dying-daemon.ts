import type { Criquet } from '../../harness/criquet.js';
import { eventually } from '../../harness/eventually.js';
import type { TestNode } from '../../harness/node.js';
import { armStandstill, disarm } from '../arm.js';
import { describe, type KillPoint } from '../places.js';
import type { DoomedCall } from '../scenario.js';

export function criquetOf({ criquet }: TestNode): Criquet {
  if (criquet === undefined) throw new Error('criquet does not serve this node');
  return criquet;
}

/** Waits until a call stands at every point. */
export async function awaitStandstill(missing: () => readonly KillPoint[], timeoutMs: number): Promise<void> {
  await eventually(
    () => {
      const left = missing();
      if (left.length > 0) throw new Error(`no call has come to: ${left.map(describe).join(', ')}`);
    },
    timeoutMs,
    20,
  );
}

/** The daemon dies, with every call where it stands; what was armed is so no more. */
export async function kill(node: TestNode): Promise<void> {
  await criquetOf(node).kill();
  disarm(node);
  node.reconnect();
}

/** Leaves behind what a daemon leaves that dies with a call at each of these points. */
export async function dieAt(node: TestNode, points: readonly KillPoint[], begin: () => Promise<unknown>[]): Promise<void> {
  const missing = armStandstill(node, points, []);
  const calls = begin().map((call) => call.catch(() => undefined));
  await awaitStandstill(missing, 20_000);
  await kill(node);
  await Promise.all(calls);
}

/** The call that dies is the start of the daemon. */
export function startOf(node: TestNode, again: () => Promise<unknown> = () => Promise.resolve()): DoomedCall {
  return { call: () => criquetOf(node).start(), again };
}
