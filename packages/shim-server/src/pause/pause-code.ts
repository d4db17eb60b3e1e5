import { a, AARCH64, aBranch, aBranchIf, aCompare, aMove, aSyscall, EQUAL, GREATER, NOT_EQUAL } from '../static-program/aarch64.js';
import { label, type MachineCode } from '../static-program/instruction.js';
import { x, X86_64, xJump, xSyscall } from '../static-program/x86-64.js';

// The pause program, instruction by instruction. It blocks every signal and then takes them one at a time: SIGTERM and SIGINT end it
// with code 0, SIGCHLD makes it reap children, since in a pod with a shared PID namespace it is process 1 and inherits the orphans.

const x86_64: MachineCode = {
  machine: X86_64,
  program: [
    x(0x48, 0x83, 0xec, 0x10), //                             sub rsp, 16
    x(0x48, 0xc7, 0x04, 0x24, 0xff, 0xff, 0xff, 0xff), //     mov qword [rsp], -1     every signal
    x(0x31, 0xff), //                                         xor edi, edi            SIG_BLOCK
    x(0x48, 0x89, 0xe6), //                                   mov rsi, rsp
    x(0x31, 0xd2), //                                         xor edx, edx
    x(0x6a, 0x08, 0x41, 0x5a), //                             push 8; pop r10         size of the set
    x(0x6a, 0x0e, 0x58), //                                   push 14; pop rax        rt_sigprocmask
    xSyscall,
    label('wait'),
    x(0x48, 0x89, 0xe7), //                                   mov rdi, rsp
    x(0x31, 0xf6), //                                         xor esi, esi
    x(0x31, 0xd2), //                                         xor edx, edx            for ever
    x(0x6a, 0x08, 0x41, 0x5a), //                             push 8; pop r10
    x(0xb8, 0x80, 0x00, 0x00, 0x00), //                       mov eax, 128            rt_sigtimedwait
    xSyscall,
    x(0x83, 0xf8, 0x0f), //                                   cmp eax, SIGTERM
    xJump(0x74, 'exit'), //                                   je exit
    x(0x83, 0xf8, 0x02), //                                   cmp eax, SIGINT
    xJump(0x74, 'exit'), //                                   je exit
    x(0x83, 0xf8, 0x11), //                                   cmp eax, SIGCHLD
    xJump(0x75, 'wait'), //                                   jne wait
    label('reap'),
    x(0x6a, 0xff, 0x5f), //                                   push -1; pop rdi        any child
    x(0x31, 0xf6), //                                         xor esi, esi
    x(0x6a, 0x01, 0x5a), //                                   push 1; pop rdx         WNOHANG
    x(0x45, 0x31, 0xd2), //                                   xor r10d, r10d
    x(0x6a, 0x3d, 0x58), //                                   push 61; pop rax        wait4
    xSyscall,
    x(0x85, 0xc0), //                                         test eax, eax
    xJump(0x7f, 'reap'), //                                   jg reap
    xJump(0xeb, 'wait'), //                                   jmp wait
    label('exit'),
    x(0x31, 0xff), //                                         xor edi, edi
    x(0x6a, 0x3c, 0x58), //                                   push 60; pop rax        exit
    xSyscall,
  ],
};

const aarch64: MachineCode = {
  machine: AARCH64,
  program: [
    a(0xd10043ff), //   sub sp, sp, #16
    a(0x92800000), //   mov x0, #-1          every signal
    a(0xf90003e0), //   str x0, [sp]
    aMove(0, 0), //                          SIG_BLOCK
    a(0x910003e1), //   mov x1, sp
    aMove(2, 0),
    aMove(3, 8), //                          size of the set
    ...aSyscall(135), //                     rt_sigprocmask
    label('wait'),
    a(0x910003e0), //   mov x0, sp
    aMove(1, 0),
    aMove(2, 0), //                          for ever
    aMove(3, 8),
    ...aSyscall(137), //                     rt_sigtimedwait
    aCompare(15), //                         SIGTERM
    aBranchIf(EQUAL, 'exit'),
    aCompare(2), //                          SIGINT
    aBranchIf(EQUAL, 'exit'),
    aCompare(17), //                         SIGCHLD
    aBranchIf(NOT_EQUAL, 'wait'),
    label('reap'),
    a(0x92800000), //   mov x0, #-1          any child
    aMove(1, 0),
    aMove(2, 1), //                          WNOHANG
    aMove(3, 0),
    ...aSyscall(260), //                     wait4
    aCompare(0),
    aBranchIf(GREATER, 'reap'),
    aBranch('wait'),
    label('exit'),
    aMove(0, 0),
    ...aSyscall(93), //                      exit
  ],
};

/** By Node's name of the architecture (`process.arch`). */
export const pauseCode: Readonly<Record<string, MachineCode>> = { x64: x86_64, arm64: aarch64 };
