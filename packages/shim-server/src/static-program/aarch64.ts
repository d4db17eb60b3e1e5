import type { Instruction } from './instruction.js';

/** ELF e_machine. */
export const AARCH64 = 183;

const word = (value: number): readonly number[] => [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff);

export const a = (value: number): Instruction => ({ bytes: word(value) });

/** movz xN, #value */
export const aMove = (register: number, value: number): Instruction => a(0xd2800000 | (value << 5) | register);

/** movz xN, #value, lsl #16 */
export const aMoveHigh = (register: number, value: number): Instruction => a(0xd2a00000 | (value << 5) | register);

/** cmp w0, #value */
export const aCompare = (value: number): Instruction => a(0x7100001f | (value << 10));

export const aBranchIf = (condition: number, to: string): Instruction => ({
  jump: to,
  size: 4,
  encode: (distance) => word(0x54000000 | (((distance >> 2) & 0x7ffff) << 5) | condition),
});

export const aBranch = (to: string): Instruction => ({
  jump: to,
  size: 4,
  encode: (distance) => word(0x14000000 | ((distance >> 2) & 0x3ffffff)),
});

/** The number goes into x8. */
export const aSyscall = (number: number): readonly Instruction[] => [aMove(8, number), a(0xd4000001)];

export const EQUAL = 0x0;
export const NOT_EQUAL = 0x1;
export const LESS = 0xb;
export const GREATER = 0xc;
