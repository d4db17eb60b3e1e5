import { constants } from 'node:os';

/** How a process ended. Both are null when nobody can tell: another part of this process has waited for it. */
export interface ProcessEnd {
  /** null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

export const UNKNOWN_END: ProcessEnd = { exitCode: null, signal: null };

/** `si_code` of a process that has ended by itself (<asm-generic/siginfo.h>). */
const CLD_EXITED = 1;

/** What waitid(2) gives of a process that has ended: how, and its exit code or the signal. */
export function endOfInfo(code: number, status: number): ProcessEnd {
  return code === CLD_EXITED ? { exitCode: status, signal: null } : { exitCode: null, signal: signalName(status) };
}

/** A real-time signal has no name in Node's table; then its number stands there, as the kernel's own messages have it. */
function signalName(number: number): NodeJS.Signals {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return (found?.[0] ?? `signal ${number}`) as NodeJS.Signals;
}
