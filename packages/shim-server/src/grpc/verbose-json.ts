/** The JSON text of verbose status replies: 64-bit numbers as numbers where they fit, bytes as base64, unknown fields left out. */
export function verboseJson(value: unknown): string {
  return JSON.stringify(value, (key, member: unknown) => {
    if (key === '_unknownFields') return undefined;
    if (typeof member === 'bigint') return Number.isSafeInteger(Number(member)) ? Number(member) : String(member);
    if (member instanceof Uint8Array) return Buffer.from(member).toString('base64');
    return member;
  });
}
