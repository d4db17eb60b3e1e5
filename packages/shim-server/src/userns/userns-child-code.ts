import { a, AARCH64, aBranch, aBranchIf, aCompare, aMove, aMoveHigh, aSyscall, LESS, NOT_EQUAL } from '../static-program/aarch64.js';
import { label, type Instruction, type MachineCode } from '../static-program/instruction.js';
import { x, X86_64, xJump, xSyscall } from '../static-program/x86-64.js';

// A process that makes a user namespace and, once its parent has written the id maps, a network namespace inside of it; network-cni's
// README has what it reads and writes.
//
// It takes the effective user id that it reads first, keeping its privileges (SECBIT_NO_SETUID_FIXUP): the kernel counts what a pod
// uses (pending signals, message queues, locked memory) for the creator of its user namespace, so that pods of different ids do not
// share one limit. Failures of these two calls do not matter: then it is the daemon's user, as in earlier kernels' practice.

const CLONE_NEWUSER_HIGH = 0x1000; // 0x10000000
const CLONE_NEWNET_HIGH = 0x4000; // 0x40000000

const xSay: readonly Instruction[] = [
  x(0x6a, 0x01, 0x5f), //                        push 1; pop rdi
  x(0x48, 0x89, 0xe6), //                        mov rsi, rsp
  x(0x6a, 0x01, 0x5a), //                        push 1; pop rdx
  x(0x6a, 0x01, 0x58), //                        push 1; pop rax     write
  xSyscall,
];
const xRead = (bytes: number): readonly Instruction[] => [
  x(0x31, 0xff), //                              xor edi, edi
  x(0x48, 0x89, 0xe6), //                        mov rsi, rsp
  x(0x6a, bytes, 0x5a), //                       push bytes; pop rdx
  x(0x31, 0xc0), //                              xor eax, eax        read
  xSyscall,
];
const xUnshare = (high: number): readonly Instruction[] => [
  x(0xbf, 0x00, 0x00, high & 0xff, high >> 8), //  mov edi, flags
  x(0xb8, 0x10, 0x01, 0x00, 0x00), //            mov eax, 272        unshare
  xSyscall,
  x(0x85, 0xc0), //                              test eax, eax
];

const x86_64: MachineCode = {
  machine: X86_64,
  program: [
    x(0x48, 0x83, 0xec, 0x10), //                sub rsp, 16
    ...xRead(4), //                              the user id
    x(0x6a, 0x1c, 0x5f), //                      push 28; pop rdi    PR_SET_SECUREBITS
    x(0x6a, 0x04, 0x5e), //                      push 4; pop rsi     SECBIT_NO_SETUID_FIXUP
    x(0xb8, 0x9d, 0x00, 0x00, 0x00), //          mov eax, 157        prctl
    xSyscall,
    x(0x6a, 0xff, 0x5f), //                      push -1; pop rdi
    x(0x8b, 0x34, 0x24), //                      mov esi, [rsp]
    x(0x6a, 0xff, 0x5a), //                      push -1; pop rdx
    x(0x6a, 0x75, 0x58), //                      push 117; pop rax   setresuid
    xSyscall,
    ...xUnshare(CLONE_NEWUSER_HIGH),
    xJump(0x78, 'fail'), //                      js fail
    ...xSay,
    ...xRead(1), //                              the maps are written
    x(0x83, 0xf8, 0x01), //                      cmp eax, 1
    xJump(0x75, 'end'), //                       jne end
    ...xUnshare(CLONE_NEWNET_HIGH),
    xJump(0x78, 'fail'), //                      js fail
    ...xSay,
    ...xRead(1), //                              until the parent is done, or gone
    label('end'),
    x(0x31, 0xff), //                            xor edi, edi
    xJump(0xeb, 'exit'), //                      jmp exit
    label('fail'),
    x(0xf7, 0xd8), //                            neg eax             the errno is the exit code
    x(0x89, 0xc7), //                            mov edi, eax
    label('exit'),
    x(0x6a, 0x3c, 0x58), //                      push 60; pop rax    exit
    xSyscall,
  ],
};

const aSay: readonly Instruction[] = [
  aMove(0, 1),
  a(0x910003e1), //  mov x1, sp
  aMove(2, 1),
  ...aSyscall(64), // write
];
const aRead = (bytes: number): readonly Instruction[] => [
  aMove(0, 0),
  a(0x910003e1), //  mov x1, sp
  aMove(2, bytes),
  ...aSyscall(63), // read
];
const aUnshare = (high: number): readonly Instruction[] => [
  aMoveHigh(0, high),
  ...aSyscall(97), // unshare
  aCompare(0),
];

const aarch64: MachineCode = {
  machine: AARCH64,
  program: [
    a(0xd10043ff), //  sub sp, sp, #16
    ...aRead(4), //                                the user id
    aMove(0, 28), //                               PR_SET_SECUREBITS
    aMove(1, 4), //                                SECBIT_NO_SETUID_FIXUP
    ...aSyscall(167), //                           prctl
    a(0x92800000), //  mov x0, #-1
    a(0xb94003e1), //  ldr w1, [sp]
    a(0x92800002), //  mov x2, #-1
    ...aSyscall(147), //                           setresuid
    ...aUnshare(CLONE_NEWUSER_HIGH),
    aBranchIf(LESS, 'fail'),
    ...aSay,
    ...aRead(1), //                                the maps are written
    aCompare(1),
    aBranchIf(NOT_EQUAL, 'end'),
    ...aUnshare(CLONE_NEWNET_HIGH),
    aBranchIf(LESS, 'fail'),
    ...aSay,
    ...aRead(1), //                                until the parent is done, or gone
    label('end'),
    aMove(0, 0),
    aBranch('exit'),
    label('fail'),
    a(0x4b0003e0), //  neg w0, w0                  the errno is the exit code
    label('exit'),
    ...aSyscall(93), //                            exit
  ],
};

/** By Node's name of the architecture (`process.arch`). */
export const usernsChildCode: Readonly<Record<string, MachineCode>> = { x64: x86_64, arm64: aarch64 };
