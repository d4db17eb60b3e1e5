/** A resource quantity as it stands in a manifest, checked: `500m`, `64Mi`, `1e3`, `0.5`. */
export type Quantity = string & { readonly [quantity]: true };
declare const quantity: unique symbol;

const FORM = /^([+-]?)(\d+)?(?:\.(\d*))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE]([+-]?\d{1,3}))?$/;

const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL_EXPONENT: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

export function isQuantity(text: string): boolean {
  const match = FORM.exec(text);
  return match !== null && (match[2] !== undefined || (match[3] ?? '') !== '');
}

/** Thousandths, rounded up as Kubernetes' MilliValue does: `"1.5"` is 1500n. */
export function milliValue(value: Quantity): bigint {
  return scaled(value, 1000n);
}

/** Whole units, rounded up as Kubernetes' Value does: `"64Mi"` is 67108864n. */
export function wholeValue(value: Quantity): bigint {
  return scaled(value, 1n);
}

function scaled(value: Quantity, scale: bigint): bigint {
  const [, sign, whole = '', fraction = '', suffix = '', exponent] = FORM.exec(value) ?? [];
  let numerator = BigInt(`${whole}${fraction}` || '0') * scale;
  let denominator = 10n ** BigInt(fraction.length);
  const binary = BINARY.indexOf(suffix);
  if (binary >= 0) numerator *= 1024n ** BigInt(binary + 1);
  const power = exponent === undefined ? (DECIMAL_EXPONENT[suffix] ?? 0) : Number(exponent);
  if (power >= 0) numerator *= 10n ** BigInt(power);
  else denominator *= 10n ** BigInt(-power);
  if (sign === '-') return -(numerator / denominator);
  return (numerator + denominator - 1n) / denominator;
}
