import type { GuestKernel } from './guest-kernel.js';

/** How many times slower than this machine Node starts in a guest: the suites' time limits grow by it. */
export const SLOWNESS: Readonly<Record<GuestKernel, number>> = { qemu: 16, uml: 5 };

const VARIABLE: Readonly<Record<GuestKernel, string>> = { qemu: 'CRIQUET_VM_KERNEL', uml: 'CRIQUET_VM_UML' };

/** The image of a guest's system, as `scripts/lib/vm-node.sh` made it. */
export function systemImage(): string {
  return required('CRIQUET_VM_IMAGE');
}

/** A guest's kernel, as `scripts/lib/vm-node.sh` made it. */
export function kernelFile(kernel: GuestKernel): string {
  return required(VARIABLE[kernel]);
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set: run scripts/test, or source scripts/lib/vm-node.sh, then provide_vm_node and export_vm_node`);
  return value;
}
