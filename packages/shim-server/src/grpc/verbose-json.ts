import { stringifyWide } from '@criquet/runtime-containerd';

/** The JSON text of verbose status replies: 64-bit numbers whole, bytes as base64, unknown fields left out. */
export function verboseJson(value: unknown): string {
  return stringifyWide(plain(value));
}

function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== '_unknownFields')
      .map(([key, member]: [string, unknown]) => [key, plain(member)]),
  );
}
