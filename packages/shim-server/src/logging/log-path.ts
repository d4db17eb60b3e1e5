import { lstat, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, posix } from 'node:path';
import { failedPrecondition, invalidArgument } from '../errors.js';
import { makeDirectories } from '../runtime/make-directories.js';

const FIELD = 'config.log_path';

/**
 * Where a container's log goes: `log_path` of its config below `log_directory` of its sandbox. Looks at the text only.
 *
 * @returns the path as ContainerStatus.log_path reports it; empty when either is empty, which means no log.
 * @throws INVALID_ARGUMENT for a relative directory, an absolute log path, or one that climbs out with `..`.
 */
export function resolveLogPath(logDirectory: string, logPath: string): string {
  if (logDirectory === '' || logPath === '') return '';
  if (!isAbsolute(logDirectory)) {
    throw invalidArgument('sandbox_config.log_directory', `${JSON.stringify(logDirectory)} is not an absolute path`);
  }
  const shown = JSON.stringify(logPath);
  if (isAbsolute(logPath)) throw invalidArgument(FIELD, `${shown} is absolute, it must be relative to log_directory`);
  if (/\0/.test(logDirectory + logPath)) throw invalidArgument(FIELD, 'holds a NUL byte');
  if (logPath.split('/').includes('..')) throw invalidArgument(FIELD, `${shown} climbs out with ".."`);
  const file = posix.normalize(logPath);
  if (file === '.' || file.endsWith('/')) throw invalidArgument(FIELD, `${shown} names no file`);
  return join(logDirectory, file);
}

/**
 * Makes the directories of a log, and sees to it that no symbolic link below `log_directory` leads the log out of it. The directory
 * itself may be a link.
 *
 * @param path from `resolveLogPath`.
 * @throws INVALID_ARGUMENT when a link leads out, or the file itself is a link; FAILED_PRECONDITION when a directory cannot be made.
 */
export async function prepareLogDirectory(logDirectory: string, path: string): Promise<void> {
  const parent = dirname(path);
  const unlessThere = <T>(looking: Promise<T>) => looking.catch(() => undefined);
  const [top, made, present] = await Promise.all([unlessThere(realpath(`${logDirectory}/.`)), unlessThere(realpath(`${parent}/.`)), unlessThere(lstat(path))]);
  if (present?.isSymbolicLink() === true) throw invalidArgument(FIELD, `${JSON.stringify(path)} is a symbolic link`);
  // The kubelet has made them.
  if (top !== undefined && made !== undefined) checkInside(made, top, path);
  else await makeParents(logDirectory, parent, path);
}

async function makeParents(logDirectory: string, parent: string, path: string): Promise<void> {
  try {
    await makeDirectories(logDirectory, 0o755);
    const top = await realpath(logDirectory);
    // Before anything is made in there: the part that exists must not lead out.
    checkInside(await realpath(await deepestExisting(parent)), top, path);
    await makeDirectories(parent, 0o755);
    checkInside(await realpath(parent), top, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code !== 'string') throw error;
    const refused = failedPrecondition(`log directory ${JSON.stringify(parent)} cannot be made: ${code}`);
    refused.cause = error;
    throw refused;
  }
}

async function deepestExisting(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    if ((await lstat(at).catch(() => undefined)) !== undefined || at === '/') return at;
  }
}

function checkInside(real: string, top: string, path: string): void {
  if (real === top || real.startsWith(top === '/' ? '/' : `${top}/`)) return;
  throw invalidArgument(FIELD, `${JSON.stringify(path)} leads out of log_directory by a symbolic link`);
}
