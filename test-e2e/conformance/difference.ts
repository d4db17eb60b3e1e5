import { hasPassed } from './outcome.js';
import type { Record, SpecRecord } from './record.js';

/** Who is better off by a difference: who passed; nobody, where neither did; `open`, where a side did not come to the spec. */
export type Favour = 'criquet' | 'containerd' | 'nobody' | 'open';

export interface Difference extends SpecRecord {
  readonly favour: Favour;
}

/**
 * The specs that have not passed on both sides, those that differ and those that did not run on either. Left out are not among
 * them: they are listed by themselves.
 */
export function differences({ specs }: Record): Difference[] {
  return specs
    .filter(({ criquet, containerd }) => criquet !== 'left out' && !(hasPassed(criquet) && hasPassed(containerd)))
    .map((spec) => ({ ...spec, favour: favourOf(spec) }));
}

/** How many specs of a record have each outcome, on one side. */
export function count(record: Record, side: 'criquet' | 'containerd', ...outcomes: readonly SpecRecord['criquet'][]): number {
  return record.specs.filter((spec) => outcomes.includes(spec[side])).length;
}

function favourOf({ criquet, containerd }: SpecRecord): Favour {
  if (criquet === 'not run' || containerd === 'not run') return 'open';
  if (hasPassed(criquet)) return 'criquet';
  return hasPassed(containerd) ? 'containerd' : 'nobody';
}
