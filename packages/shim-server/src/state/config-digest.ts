import { createHash } from 'node:crypto';

/**
 * A digest of a CRI message by which two requests are recognised as the same.
 * Map entries arrive in any order, so the message is compared with its keys sorted.
 */
export function configDigest(message: object): string {
  return createHash('sha256').update(JSON.stringify(message, sortedAndPlain)).digest('hex');
}

function sortedAndPlain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  }
  return value;
}
