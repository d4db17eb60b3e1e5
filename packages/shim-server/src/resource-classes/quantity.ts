const FACTORS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/**
 * A whole number in Kubernetes' notation of quantities: "100", "10k", "50M", "1.5Gi", "1e6"; parts of one are rounded up.
 * undefined for anything else, and for what is not exact in a number.
 */
export function parseQuantity(text: string): number | undefined {
  const [, digits, exponent, suffix = ''] = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([A-Za-z]*))$/.exec(text) ?? [];
  const factor = exponent === undefined ? FACTORS[suffix] : 10 ** Number(exponent);
  if (digits === undefined || factor === undefined) return undefined;
  // Not a digit of noise above a whole number counts as a part of one.
  const value = Math.ceil(Number((Number(digits) * factor).toPrecision(15)));
  return Number.isSafeInteger(value) ? value : undefined;
}
