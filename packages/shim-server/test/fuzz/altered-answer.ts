import * as fc from 'fast-check';
import { hostileText } from './hostile.js';

/** A change of one member of an answer, by its number among all of them, however deep. */
export interface Alteration {
  readonly at: number;
  readonly how: 'leave out' | 'text' | 'number' | 'many' | 'none';
  readonly text: string;
  readonly number: number;
}

export const alterations: fc.Arbitrary<Alteration> = fc.record({
  at: fc.nat(60),
  how: fc.constantFrom('leave out' as const, 'text' as const, 'text' as const, 'number' as const, 'many' as const, 'none' as const),
  text: hostileText,
  number: fc.constantFrom(0, 1, 2, 7, 65_536, 2 ** 31 - 1),
});

interface Member {
  readonly holder: Record<string, unknown>;
  readonly name: string;
}

/** The answer, a message as ts-proto has it, with members that are wrong but can still be written to the wire. */
export function altered(answer: unknown, changes: readonly Alteration[]): unknown {
  const copy = structuredClone(answer);
  const members: Member[] = [];
  collect(copy, members);
  if (members.length === 0) return copy;
  for (const change of changes) {
    const member = members[change.at % members.length];
    if (member !== undefined) member.holder[member.name] = other(member.holder[member.name], change);
  }
  return copy;
}

function collect(value: unknown, members: Member[]): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  for (const [name, member] of Object.entries(value)) {
    if (name === '_unknownFields' || name === '$case') continue;
    if (!Array.isArray(value)) members.push({ holder: value as Record<string, unknown>, name });
    collect(member, members);
  }
}

function other(value: unknown, { how, text, number }: Alteration): unknown {
  if (typeof value === 'string') return how === 'leave out' || how === 'none' ? '' : text;
  if (typeof value === 'number') return how === 'leave out' ? 0 : number;
  if (typeof value === 'bigint') return how === 'leave out' ? 0n : BigInt(number) * 1_000_003n;
  if (typeof value === 'boolean') return !value;
  if (value instanceof Uint8Array) return Buffer.from(how === 'leave out' ? '' : how === 'many' ? '['.repeat(100_000) : text);
  if (Array.isArray(value)) return how === 'many' ? Array.from({ length: 500 }, () => value as unknown[]).flat() : [];
  return how === 'leave out' || how === 'none' ? undefined : value;
}
