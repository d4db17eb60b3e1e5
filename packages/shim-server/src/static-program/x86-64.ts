import type { Instruction } from './instruction.js';

/** ELF e_machine. */
export const X86_64 = 62;

export const x = (...bytes: number[]): Instruction => ({ bytes });

/** A short jump; the distance counts from the end of its two bytes. */
export const xJump = (opcode: number, to: string): Instruction => ({
  jump: to,
  size: 2,
  encode: (distance) => {
    if (distance - 2 < -128 || distance - 2 > 127) throw new Error(`${to} is too far away for a short jump`);
    return [opcode, (distance - 2) & 0xff];
  },
});

export const xSyscall = x(0x0f, 0x05);
