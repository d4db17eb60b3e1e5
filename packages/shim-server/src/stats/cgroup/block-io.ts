import type { CgroupFiles } from './cgroup-files.js';

/** What a cgroup did on one block device; cumulative. */
export interface DeviceIo {
  readonly major: number;
  readonly minor: number;
  /** Bytes by operation, as the kernel names it: `Read`, `Write`, `Sync`, `Async`, `Discard`; v2 knows three of them. */
  readonly bytes: Readonly<Record<string, bigint>>;
  /** Requests by operation. */
  readonly requests: Readonly<Record<string, bigint>>;
}

/** The files of v1 by I/O scheduler; the throttle layer counts under any scheduler, but only on devices with a queue. */
const V1_SOURCES = ['blkio.throttle', 'blkio.bfq'];

/** Block I/O of a cgroup and those below it: `io.stat` on v2, `blkio.*.io_service*_recursive` on v1. */
export function readBlockIo(files: CgroupFiles): DeviceIo[] {
  if (files.version === 'v2') return parseIoStat(files.text('io', 'io.stat') ?? '');
  for (const source of V1_SOURCES) {
    const bytes = files.text('blkio', `${source}.io_service_bytes_recursive`);
    const requests = files.text('blkio', `${source}.io_serviced_recursive`);
    const devices = parseBlkio(bytes ?? '', requests ?? '');
    if (devices.length > 0) return devices;
  }
  return [];
}

/** `8:0 rbytes=90430464 wbytes=299008 rios=8950 wios=1252 dbytes=0 dios=0` a device. */
export function parseIoStat(text: string): DeviceIo[] {
  return text.split('\n').flatMap((line) => {
    const [device = '', ...pairs] = line.split(' ');
    const numbers = deviceNumbers(device);
    if (numbers === undefined) return [];
    const values = new Map(pairs.map((pair) => pair.split('=') as [string, string]));
    const of = (key: string) => BigInt(/^\d+$/.exec(values.get(key) ?? '')?.[0] ?? 0);
    return [
      {
        ...numbers,
        bytes: { Read: of('rbytes'), Write: of('wbytes'), Discard: of('dbytes') },
        requests: { Read: of('rios'), Write: of('wios'), Discard: of('dios') },
      },
    ];
  });
}

/** `8:0 Read 4096` a device and operation, then `Total 4096`. */
export function parseBlkio(bytes: string, requests: string): DeviceIo[] {
  const devices = new Map<string, { bytes: Record<string, bigint>; requests: Record<string, bigint> }>();
  const collect = (text: string, field: 'bytes' | 'requests') => {
    for (const [, device = '', operation = '', value = '0'] of text.matchAll(/^(\d+:\d+) ([A-Z][a-z]+) (\d+)$/gm)) {
      if (operation === 'Total') continue;
      const counts = devices.get(device) ?? { bytes: {}, requests: {} };
      counts[field][operation] = BigInt(value);
      devices.set(device, counts);
    }
  };
  collect(bytes, 'bytes');
  collect(requests, 'requests');
  return [...devices].flatMap(([device, counts]) => {
    const numbers = deviceNumbers(device);
    return numbers === undefined ? [] : [{ ...numbers, ...counts }];
  });
}

function deviceNumbers(text: string): { major: number; minor: number } | undefined {
  const match = /^(\d+):(\d+)$/.exec(text);
  return match === null ? undefined : { major: Number(match[1]), minor: Number(match[2]) };
}
