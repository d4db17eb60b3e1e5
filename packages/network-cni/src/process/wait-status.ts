import { constants } from 'node:os';

/** How a process ended. Both are null when nobody can tell: another part of this process has waited for it. */
export interface ProcessEnd {
  /** null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

export const UNKNOWN_END: ProcessEnd = { exitCode: null, signal: null };

/** The status that waitpid(2) gives of a process that has ended: the signal in the low seven bits, or the exit code in the next byte. */
export function endOfStatus(status: number): ProcessEnd {
  const number = status & 0x7f;
  if (number === 0) return { exitCode: (status >> 8) & 0xff, signal: null };
  return { exitCode: null, signal: signalName(number) };
}

/** A real-time signal has no name in Node's table; then its number stands there, as the kernel's own messages have it. */
function signalName(number: number): NodeJS.Signals {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return (found?.[0] ?? `signal ${number}`) as NodeJS.Signals;
}
