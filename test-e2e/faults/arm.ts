import { status } from '@grpc/grpc-js';
import type { TestNode } from '../harness/node.js';
import type { ArmedFailpoint, FailpointAction } from './failpoint-file.js';
import type { KillPoint } from './places.js';
import type { FailingStep } from './scenario.js';

let ids = 0;

function armed(point: KillPoint, times: ArmedFailpoint['times'], action: FailpointAction): ArmedFailpoint {
  return { id: `failpoint-${++ids}`, ...point, times, action };
}

function failures(steps: readonly FailingStep[]): ArmedFailpoint[] {
  const unavailable: FailpointAction = { do: 'fail', code: status.UNAVAILABLE, message: 'failpoint' };
  return steps.map(({ place, moment = 'before', action = unavailable }) => armed({ place, moment }, 'always', action));
}

/** Replaces everything that is armed by steps that fail. */
export function armFailures(node: TestNode, steps: readonly FailingStep[]): void {
  node.failpoints.writeArmed(failures(steps));
}

/**
 * Replaces everything that is armed: at each of `points` one call stands still, at `failing` every call fails.
 *
 * @returns the points at which no call stands yet
 */
export function armStandstill(node: TestNode, points: readonly KillPoint[], failing: readonly FailingStep[]): () => KillPoint[] {
  const standing = points.map((point) => armed(point, 'once', { do: 'hang' }));
  node.failpoints.writeArmed([...standing, ...failures(failing)]);
  return () => {
    const hits = new Set(node.failpoints.readHits());
    return standing.filter(({ id }) => !hits.has(id)).map(({ place, moment }) => ({ place, moment }));
  };
}

export function disarm(node: TestNode): void {
  node.failpoints.writeArmed([]);
}
