import { test } from 'tap';
import { assemble, label } from '../../src/static-program/instruction.js';
import { aBranch, aBranchIf, aMoveHigh, EQUAL } from '../../src/static-program/aarch64.js';
import { x, xJump } from '../../src/static-program/x86-64.js';

test('jumps know how far their labels are', (t) => {
  t.same([...assemble([label('top'), x(0x90), xJump(0xeb, 'end'), xJump(0xeb, 'top'), label('end'), x(0xc3)])], [0x90, 0xeb, 2, 0xeb, 0xfb, 0xc3]);
  // b +8; b.eq -4, as an assembler writes them
  t.same([...assemble([label('top'), aBranch('end'), aBranchIf(EQUAL, 'top'), label('end')])], [0x02, 0, 0, 0x14, 0xe0, 0xff, 0xff, 0x54]);
  t.same([...assemble([aMoveHigh(0, 0x1000)])], [0x00, 0x00, 0xa2, 0xd2], 'mov x0, #0x10000000');
  t.end();
});

test('a jump without its label, or too far from it, is an error', (t) => {
  t.throws(() => assemble([xJump(0xeb, 'nowhere')]), { message: /no label nowhere/ });
  t.throws(() => assemble([xJump(0xeb, 'end'), x(...Array<number>(128).fill(0x90)), label('end')]), { message: /end is too far/ });
  t.end();
});
