import type { LinuxSeccomp, LinuxSeccompArg, LinuxSyscall } from '@criquet/runtime-containerd';
import { ARCHITECTURE_SYSCALLS, CAPABILITY_SYSCALLS, UNPRIVILEGED_SYSCALLS } from './seccomp-syscalls.js';

/** libseccomp's architectures of a node by `process.arch`: its own, and the 32-bit ones whose programs it runs. */
const ARCHITECTURES: Readonly<Record<string, readonly string[]>> = {
  x64: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86', 'SCMP_ARCH_X32'],
  arm64: ['SCMP_ARCH_AARCH64', 'SCMP_ARCH_ARM'],
  s390x: ['SCMP_ARCH_S390X', 'SCMP_ARCH_S390'],
  ppc64: ['SCMP_ARCH_PPC64LE'],
  riscv64: ['SCMP_ARCH_RISCV64'],
  loong64: ['SCMP_ARCH_LOONGARCH64'],
};

/** The CLONE_NEW* flags that make a namespace: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const CLONE_NAMESPACES = 0x7e020000;
const ENOSYS = 38;
/** The kernel's crypto API over sockets: attack surface that no ordinary container needs. */
const AF_ALG = 38;
/** Reaches the hypervisor and other machines past the network namespace. */
const AF_VSOCK = 40;
/** PER_LINUX, PER_LINUX32, UNAME26 alone and with PER_LINUX32, and the query. */
const PERSONALITIES = [0x0, 0x8, 0x20000, 0x20008, 0xffffffff];

/**
 * The default system call filter (RuntimeDefault): everything is refused with EPERM but a list, wider for a container with
 * more capabilities. Data only; the kernel and libseccomp of the node skip the names they do not know.
 */
export function defaultSeccompProfile(options: { capabilities: readonly string[]; arch: string }): LinuxSeccomp {
  const { capabilities, arch } = options;
  const allowed = [
    ...Object.values(UNPRIVILEGED_SYSCALLS).flat(),
    ...(ARCHITECTURE_SYSCALLS[arch] ?? []),
    ...capabilities.flatMap((capability) => CAPABILITY_SYSCALLS[capability] ?? []),
  ];
  const syscalls: LinuxSyscall[] = [
    { names: [...new Set(allowed)], action: 'SCMP_ACT_ALLOW' },
    // Rules for one call are alternatives, so "neither ALG nor VSOCK" has to be said as three ranges.
    allowWhen('socket', { index: 0, value: AF_ALG, op: 'SCMP_CMP_LT' }),
    allowWhen('socket', { index: 0, value: AF_ALG + 1, op: 'SCMP_CMP_EQ' }),
    allowWhen('socket', { index: 0, value: AF_VSOCK, op: 'SCMP_CMP_GT' }),
    ...PERSONALITIES.map((value) => allowWhen('personality', { index: 0, value, op: 'SCMP_CMP_EQ' })),
  ];
  if (!capabilities.includes('CAP_SYS_ADMIN')) {
    // s390 passes clone's flags as the second argument.
    const index = arch === 's390x' ? 1 : 0;
    syscalls.push(allowWhen('clone', { index, value: CLONE_NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }));
    // clone3 hides its flags behind a pointer; with ENOSYS the C library falls back to clone.
    syscalls.push({ names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS });
  }
  const architectures = ARCHITECTURES[arch];
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    ...(architectures && { architectures: [...architectures] }),
    syscalls,
  };
}

function allowWhen(name: string, arg: LinuxSeccompArg): LinuxSyscall {
  return { names: [name], action: 'SCMP_ACT_ALLOW', args: [arg] };
}
