import { randomUUID } from 'node:crypto';

/**
 * JSON with integers of 64 bits: bigints are written as plain numbers, and integers that a number cannot hold exactly are
 * read as bigints. Without this an unlimited rlimit (2^64-1) would be rounded up to a value that Go refuses to read.
 */
export function stringifyWide(value: unknown): string {
  return write(value) ?? 'null';
}

function write(value: unknown): string | undefined {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value) as string | undefined;
  if (Array.isArray(value)) return `[${value.map((item) => write(item) ?? 'null').join(',')}]`;
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    const text = write(member);
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${members.join(',')}}`;
}

/** A string or a number. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d+$/;

/** @throws SyntaxError */
export function parseWide(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  // Unguessable, so that no string of the document can pass for a number.
  const mark = `wide-integer:${randomUUID()}:`;
  const marked = text.replace(TOKEN, (token) =>
    INTEGER.test(token) && !Number.isSafeInteger(Number(token)) ? `"${mark}${token}"` : token,
  );
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}
