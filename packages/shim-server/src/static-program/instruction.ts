/** A label, bytes, or a jump to a label whose distance is filled in. */
export type Instruction =
  | { readonly label: string }
  | { readonly bytes: readonly number[] }
  | { readonly jump: string; readonly size: number; readonly encode: (distance: number) => readonly number[] };

/** A program for one processor, instruction by instruction; it begins with the first. */
export interface MachineCode {
  /** ELF e_machine. */
  readonly machine: number;
  readonly program: readonly Instruction[];
}

export const label = (name: string): Instruction => ({ label: name });

/** @throws Error for a jump to a label that is not there, or too far away */
export function assemble(program: readonly Instruction[]): Buffer {
  const labels = new Map<string, number>();
  let position = 0;
  for (const instruction of program) {
    if ('label' in instruction) labels.set(instruction.label, position);
    else position += 'bytes' in instruction ? instruction.bytes.length : instruction.size;
  }
  const code: number[] = [];
  for (const instruction of program) {
    if ('bytes' in instruction) code.push(...instruction.bytes);
    else if ('jump' in instruction) {
      const target = labels.get(instruction.jump);
      if (target === undefined) throw new Error(`no label ${instruction.jump}`);
      code.push(...instruction.encode(target - code.length));
    }
  }
  return Buffer.from(code);
}
