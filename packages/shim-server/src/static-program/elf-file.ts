import { assemble, type MachineCode } from './instruction.js';

const ELF_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const CODE_OFFSET = ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES;
const LOAD_ADDRESS = 0x400000n;
const PAGE_BYTES = 0x10000n;

/** A static 64-bit executable of a few hundred bytes, put together here so that no compiler is needed anywhere and no binary is shipped. */
export function elfFile({ machine, program }: MachineCode): Buffer {
  const code = assemble(program);
  const size = BigInt(CODE_OFFSET + code.length);
  const header = Buffer.alloc(CODE_OFFSET);
  header.write('\x7fELF', 'latin1');
  header.set([2, 1, 1], 4); // 64-bit, little endian, version 1
  header.writeUInt16LE(2, 16); // ET_EXEC
  header.writeUInt16LE(machine, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(LOAD_ADDRESS + BigInt(CODE_OFFSET), 24); // entry
  header.writeBigUInt64LE(BigInt(ELF_HEADER_BYTES), 32); // program headers
  header.writeUInt16LE(ELF_HEADER_BYTES, 52);
  header.writeUInt16LE(PROGRAM_HEADER_BYTES, 54);
  header.writeUInt16LE(1, 56);
  header.writeUInt32LE(1, 64); // PT_LOAD
  header.writeUInt32LE(5, 68); // read, execute
  header.writeBigUInt64LE(LOAD_ADDRESS, 80);
  header.writeBigUInt64LE(LOAD_ADDRESS, 88);
  header.writeBigUInt64LE(size, 96);
  header.writeBigUInt64LE(size, 104);
  header.writeBigUInt64LE(PAGE_BYTES, 112);
  return Buffer.concat([header, code]);
}
