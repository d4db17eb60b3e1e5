import { readFile } from 'node:fs/promises';

/** One line of `/proc/<pid>/mountinfo` (proc(5)), as far as it is of use here. */
export interface MountInfo {
  mountPoint: string;
  /** Of the file system, for example `cgroup2`. */
  type: string;
  /** What is mounted: a device, or a name that the file system chose. */
  source: string;
  /** For example `shared:12`, `master:3`. */
  optionalFields: string[];
  superOptions: string[];
}

/** Reads the daemon's own mounts. */
export async function readMountInfo(path = '/proc/self/mountinfo'): Promise<MountInfo[]> {
  return parseMountInfo(await readFile(path, 'utf8'));
}

export function parseMountInfo(text: string): MountInfo[] {
  return text.split('\n').flatMap((line) => {
    const fields = line.split(' ');
    const separator = fields.indexOf('-', 6);
    const mountPoint = fields[4];
    if (separator < 0 || mountPoint === undefined) return [];
    return [
      {
        mountPoint: unescape(mountPoint),
        type: fields[separator + 1] ?? '',
        source: unescape(fields[separator + 2] ?? ''),
        optionalFields: fields.slice(6, separator),
        superOptions: (fields[separator + 3] ?? '').split(','),
      },
    ];
  });
}

/** The mount that `path` (absolute, without symbolic links) lies on: the deepest one, and of several there the last. */
export function mountOf(path: string, mounts: readonly MountInfo[]): MountInfo | undefined {
  let best: MountInfo | undefined;
  for (const mount of mounts) {
    const { mountPoint } = mount;
    const above = mountPoint === '/' || path === mountPoint || path.startsWith(`${mountPoint}/`);
    if (above && (best === undefined || mountPoint.length >= best.mountPoint.length)) best = mount;
  }
  return best;
}

/** The kernel writes space, tab, newline and backslash as three octal digits. */
function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
}
