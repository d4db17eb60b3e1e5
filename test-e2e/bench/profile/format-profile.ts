import { addUp, packageOf, placeOf, type SelfCost } from './self-cost.js';

const FUNCTIONS = 30;

/** Shares by package, and the functions with the largest. @param share what they are shares of, in words */
export function formatCosts(costs: readonly SelfCost[], file: string, share: string): string {
  const total = costs.reduce((sum, { self }) => sum + self, 0);
  const percent = (self: number) => `${((100 * self) / total).toFixed(1).padStart(6)} %`;
  const lines = (sums: readonly [string, number][]) => sums.map(([name, self]) => `${percent(self)}  ${name}`);
  return [
    file,
    `${share}, by package, in functions of its own:`,
    ...lines(addUp(costs, packageOf).filter(([, self]) => self / total >= 0.001)),
    `by function, the first ${FUNCTIONS}:`,
    ...lines(addUp(costs, placeOf).slice(0, FUNCTIONS)),
  ].join('\n');
}
