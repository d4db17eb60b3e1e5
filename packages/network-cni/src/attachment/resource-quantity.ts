/** Powers of ten of Kubernetes' decimal suffixes, and of two of its binary ones. */
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

/** Longest text accepted: enough for any quantity that means something, short enough that arithmetic stays cheap. */
const MAX_LENGTH = 64;

/**
 * A Kubernetes resource quantity (`10M`, `1.5Gi`, `1e6`) as a whole number, rounded up as the API machinery's Value() does.
 * undefined for what is none.
 */
export function parseQuantity(text: string): bigint | undefined {
  const match = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)?|[eE]([+-]?\d{1,2}))$/.exec(text);
  if (match === null || text.length > MAX_LENGTH) return undefined;
  const [, sign = '', number = '', suffix = '', exponent] = match;
  const [whole = '', fraction = ''] = number.split('.');
  const binary = BINARY[suffix];
  const power = (exponent === undefined ? (DECIMAL[suffix] ?? 0) : Number(exponent)) - fraction.length;
  const digits = BigInt(`${whole}${fraction}`) * (binary === undefined ? 1n : 2n ** BigInt(binary));
  const scaled = sign === '-' ? -digits : digits;
  if (power >= 0) return scaled * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  const quotient = scaled / divisor;
  return scaled > 0n && scaled % divisor !== 0n ? quotient + 1n : quotient;
}
