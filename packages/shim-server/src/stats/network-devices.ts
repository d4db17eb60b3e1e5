import { readTextSync } from '../runtime/read-text-sync.js';

/** Cumulative figures of one network interface. */
export interface NetworkDevice {
  readonly name: string;
  readonly received: DirectionCounts;
  readonly sent: DirectionCounts;
}

export interface DirectionCounts {
  readonly bytes: bigint;
  readonly packets: bigint;
  readonly errors: bigint;
  readonly dropped: bigint;
}

/** The interfaces of a process' network namespace without loopback; none when the process is gone. */
export function readNetworkDevices(pid: number, proc: string): NetworkDevice[] | undefined {
  const text = readTextSync(`${proc}/${pid}/net/dev`);
  return text === undefined ? undefined : parseNetworkDevices(text).filter(({ name }) => name !== 'lo');
}

/** proc_pid_net(5): eight columns for each direction, behind two lines of headings. */
export function parseNetworkDevices(text: string): NetworkDevice[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*(\S+):\s*((?:\d+\s+){15}\d+)\s*$/.exec(line);
    if (match === null) return [];
    const columns = (match[2] ?? '').split(/\s+/).map(BigInt);
    const counts = (from: number): DirectionCounts => {
      const [bytes = 0n, packets = 0n, errors = 0n, dropped = 0n] = columns.slice(from, from + 4);
      return { bytes, packets, errors, dropped };
    };
    return [{ name: match[1] ?? '', received: counts(0), sent: counts(8) }];
  });
}
