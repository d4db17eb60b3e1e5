/** Round numbers from 0 up to the first that is not below `largest`: 1, 2 or 5 times a power of ten apart, three to six of them. */
export function ticks(largest: number): number[] {
  if (!(largest > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(largest / 5));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => largest / candidate <= 5) ?? power * 10;
  const count = Math.ceil(largest / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}
