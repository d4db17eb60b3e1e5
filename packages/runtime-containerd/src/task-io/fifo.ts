import koffi from 'koffi';

/** mkfifo(3) took no effect. */
export class MkfifoError extends Error {
  override readonly name = 'MkfifoError';

  constructor(
    readonly path: string,
    /** For example `EEXIST`. */
    readonly code: string,
  ) {
    super(`mkfifo ${path}: ${code}`);
  }
}

type MkfifoCall = (path: string, mode: number) => number;

let loaded: MkfifoCall | undefined;

/** One system call of some 50 us: no process, no thread. @throws MkfifoError */
export function mkfifo(path: string, mode: number): void {
  loaded ??= koffi.load('libc.so.6').func('int mkfifo(const char *path, uint32_t mode)') as unknown as MkfifoCall;
  if (loaded(path, mode) !== 0) throw new MkfifoError(path, errorName(koffi.errno()));
}

function errorName(errno: number): string {
  const entry = Object.entries(koffi.os.errno).find(([, number]) => number === errno);
  return entry?.[0] ?? `errno ${errno}`;
}
