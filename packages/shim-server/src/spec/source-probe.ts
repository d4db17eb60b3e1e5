import { mkdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { status } from '@grpc/grpc-js';
import { failedPrecondition, invalidArgument, ShimError } from '../errors.js';

/** A mount source that exists. */
export interface ProbedSource {
  /** Without symbolic links. */
  path: string;
  /** Whether it was missing and is now a new directory. */
  created: boolean;
}

export interface SourceProbeOptions {
  /** How many sources may hang before new ones are refused. Default 2: Node has four threads for all file work. */
  maxHanging?: number;
  /** Milliseconds after which a probe counts as hanging. Default 1000. */
  hangingAfterMs?: number;
}

/**
 * Looks at mount sources on the node. A source on a dead network file system or FUSE mount can hold a file operation for
 * ever, and a thread with it; so callers that ask for the same path share one operation, a caller leaves at its
 * deadline, and no more than a few hanging operations exist at a time. One probe serves the whole daemon.
 */
export class SourceProbe {
  private readonly underWay = new Map<string, { result: Promise<ProbedSource>; since: number }>();
  private readonly maxHanging: number;
  private readonly hangingAfterMs: number;

  constructor(
    options: SourceProbeOptions = {},
    private readonly look: (path: string) => Promise<ProbedSource> = lookAt,
  ) {
    this.maxHanging = options.maxHanging ?? 2;
    this.hangingAfterMs = options.hangingAfterMs ?? 1000;
  }

  /**
   * Resolves a source; a missing one becomes a directory (0755), as containerd's CRI plugin does.
   *
   * @param field the CRI field, for errors.
   * @throws INVALID_ARGUMENT for a path that cannot be a source; FAILED_PRECONDITION where the node refuses; DEADLINE_EXCEEDED
   * when `signal` aborts first; UNAVAILABLE while too many other sources hang.
   */
  async resolve(field: string, path: string, signal?: AbortSignal): Promise<ProbedSource> {
    if (path === '') throw invalidArgument(field, 'is empty');
    if (!isAbsolute(path)) throw invalidArgument(field, `${JSON.stringify(path)} is not an absolute path`);
    if (path.includes('\0')) throw invalidArgument(field, 'holds a NUL byte');
    try {
      return await this.untilAborted(field, path, this.share(field, path), signal);
    } catch (error) {
      throw describe(field, path, error);
    }
  }

  private share(field: string, path: string): Promise<ProbedSource> {
    const known = this.underWay.get(path);
    if (known !== undefined) return known.result;
    const now = performance.now();
    const hanging = [...this.underWay]
      .filter(([, { since }]) => now - since > this.hangingAfterMs)
      .map(([name]) => name);
    if (hanging.length >= this.maxHanging) {
      throw new ShimError(
        status.UNAVAILABLE,
        `${field}: not looked at, since other mount sources do not answer: ${hanging.map((name) => JSON.stringify(name)).join(', ')}`,
      );
    }
    const result = this.look(path).finally(() => this.underWay.delete(path));
    // A caller that left at its deadline no longer listens.
    result.catch(() => undefined);
    this.underWay.set(path, { result, since: now });
    return result;
  }

  private async untilAborted<T>(field: string, path: string, result: Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal === undefined) return result;
    const gaveUp = (): ShimError =>
      new ShimError(
        status.DEADLINE_EXCEEDED,
        `${field}: the file system of mount source ${JSON.stringify(path)} did not answer in time`,
        {
          cause: signal.reason,
        },
      );
    if (signal.aborted) throw gaveUp();
    let leave: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
      leave = () => reject(gaveUp());
      signal.addEventListener('abort', leave, { once: true });
    });
    try {
      return await Promise.race([result, aborted]);
    } finally {
      if (leave !== undefined) signal.removeEventListener('abort', leave);
    }
  }
}

async function lookAt(path: string): Promise<ProbedSource> {
  let created = false;
  try {
    await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await mkdir(path, { recursive: true, mode: 0o755 });
    created = true;
  }
  return { path: await realpath(path), created };
}

function describe(field: string, path: string, error: unknown): unknown {
  if (error instanceof ShimError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? String(error);
  const shown = JSON.stringify(path);
  const described =
    code === 'ENOTDIR' || code === 'ENAMETOOLONG' || code === 'ELOOP'
      ? invalidArgument(field, `mount source ${shown} cannot be: ${REASONS[code]}`)
      : failedPrecondition(`${field}: mount source ${shown} cannot be used: ${REASONS[code] ?? code}`);
  described.cause = error;
  return described;
}

const DANGLING = 'it is, or goes through, a symbolic link to something that does not exist';

const REASONS: Readonly<Record<string, string>> = {
  ENOTDIR: 'a part of it is not a directory',
  ENAMETOOLONG: 'its name is too long',
  ELOOP: 'its symbolic links go round in a circle',
  EEXIST: DANGLING,
  ENOENT: DANGLING,
  EACCES: 'permission denied',
  EROFS: 'it does not exist, and the file system is read-only',
};
