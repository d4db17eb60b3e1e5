import { allPlaces, needOf, type Need, type Place } from '@criquet/shim-server/testing';
import { describe, MOMENTS, type KillPoint } from './places.js';
import type { Scenario } from './scenario.js';

/** Where the daemon has died, compared with where it can: the registry of shim-server. */
export class Coverage {
  private readonly died = new Set<string>();
  private deaths = 0;

  add(points: readonly KillPoint[]): void {
    for (const point of points) this.died.add(describe(point));
    this.deaths += points.length;
  }

  /**
   * Where it has not.
   *
   * @param bothMoments whether one moment of a place is not enough
   * @param exempt places that this machine cannot come to
   */
  missing(bothMoments: boolean, exempt: (place: Place) => boolean): string[] {
    return allPlaces()
      .filter((place) => !exempt(place))
      .flatMap((place) => {
        const points = MOMENTS.map((moment) => ({ place, moment })).filter((point) => !this.died.has(describe(point)));
        return points.length === 0 || (!bothMoments && points.length < MOMENTS.length) ? [] : points.map(describe);
      });
  }

  /** In words, for the end of a run. */
  summary(): string {
    const places = new Set([...this.died].map((point) => point.slice(point.indexOf(' ') + 1)));
    const all = allPlaces().length;
    return `${places.size} of ${all} places, ${this.died.size} of ${all * MOMENTS.length} moments of places, ${this.deaths} deaths`;
  }
}

/** Needs of steps that no scenario provides: at these steps the daemon dies where there is nothing to do. */
export function unprovided(scenarios: readonly Scenario[]): Need[] {
  const provided = new Set(
    scenarios.flatMap(({ places, provides = [] }) => places.map(needOf).filter((need) => need !== undefined && provides.includes(need))),
  );
  const needed = new Set(allPlaces().map(needOf).filter((need) => need !== undefined));
  return [...needed].filter((need) => !provided.has(need));
}
