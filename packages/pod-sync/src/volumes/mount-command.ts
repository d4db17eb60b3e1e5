import { execFile } from 'node:child_process';
import { readFile, realpath } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Makes and removes mounts on the machine, by the commands of util-linux; needs root. */
export interface Mounter {
  /** A tmpfs at an existing directory; `sizeBytes` bounds it. */
  tmpfs(target: string, options: { readonly mode: number; readonly sizeBytes?: bigint }, signal?: AbortSignal): Promise<void>;
  /** Binds exactly the object at `source`: the path is not resolved again, so a magic link below /proc names it for good. */
  bind(source: string, target: string, signal?: AbortSignal): Promise<void>;
  unmount(target: string, signal?: AbortSignal): Promise<void>;
  /** Mount points at and below a directory, the innermost first. */
  below(directory: string): Promise<string[]>;
}

export const systemMounter: Mounter = {
  async tmpfs(target, { mode, sizeBytes }, signal) {
    const size = sizeBytes === undefined ? [] : [`size=${sizeBytes}`];
    const options = [`mode=${mode.toString(8)}`, 'nosuid', 'nodev', ...size].join(',');
    await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', target], { signal });
  },
  async bind(source, target, signal) {
    await run('mount', ['--no-canonicalize', '--bind', source, target], { signal });
  },
  async unmount(target, signal) {
    await run('umount', [target], { signal });
  },
  async below(directory) {
    // The kernel lists mount points with all links resolved.
    const real = await realpath(directory).catch(() => directory);
    return mountPoints(await readFile('/proc/self/mountinfo', 'utf8'), real);
  },
};

/** Mount points at and below `directory` in the text of /proc/PID/mountinfo (proc(5): the fifth field, blanks as octal). */
export function mountPoints(mountinfo: string, directory: string): string[] {
  const points = mountinfo
    .split('\n')
    .map((line) => line.split(' ')[4])
    .filter((field) => field !== undefined)
    .map((field) => field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))));
  return points.filter((point) => point === directory || point.startsWith(`${directory}/`)).reverse();
}
