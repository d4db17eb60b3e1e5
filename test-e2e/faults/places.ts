import { CALL_STEPS, needOf, type Call, type Moment, type Need, type Place } from '@criquet/shim-server/testing';

/** A place and a moment at which the daemon dies. */
export interface KillPoint {
  readonly place: Place;
  readonly moment: Moment;
}

export const MOMENTS: readonly Moment[] = ['before', 'after'];

type Part = 'earlier' | 'steps' | 'undo';

/** The places of one part of a call's list, without those that need what `provides` does not have where that leads elsewhere. */
export function placesOf(call: Call, part: Part, without: readonly Need[] = []): Place[] {
  const lists: Readonly<Partial<Record<Part, readonly string[]>>> = CALL_STEPS[call];
  const places = (lists[part] ?? []).map((step) => (part === 'undo' ? `${call}/undo: ${step}` : `${call}/${step}`) as Place);
  return places.filter((place) => {
    const need = needOf(place);
    return need === undefined || !without.includes(need);
  });
}

export function describe({ place, moment }: KillPoint): string {
  return `${moment} ${place}`;
}
