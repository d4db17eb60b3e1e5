import { getSystemErrorName } from 'node:util';
import koffi from 'koffi';

const libc = koffi.load(null);
const listCall = libc.func('long llistxattr(const char *path, void *list, size_t size)');
const getCall = libc.func('long lgetxattr(const char *path, const char *name, void *value, size_t size)');
const setCall = libc.func('int lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags)');

/** The kernel's limits (linux/limits.h): of a list of names, and of one value. */
const MAX_BYTES = 65_536;

/** Extended attributes by path, symbolic links not followed. They run on Node's file threads, as its own file calls do. */
export interface Xattrs {
  /** Names with their namespace, for example `security.capability`; none where the file system has no attributes. */
  list(path: string): Promise<string[]>;
  /** undefined where there is no such attribute, or the file system has none. */
  get(path: string, name: string): Promise<Buffer | undefined>;
  /** @throws XattrError */
  set(path: string, name: string, value: Uint8Array): Promise<void>;
}

/** An attribute call that the kernel refused. */
export class XattrError extends Error {
  override readonly name = 'XattrError';

  constructor(
    readonly path: string,
    /** errno name, for example `ENOTSUP`. */
    readonly code: string,
    operation: string,
  ) {
    super(`${operation} ${path}: ${code}`);
  }
}

const ABSENT = new Set(['ENODATA', 'ENOTSUP', 'EOPNOTSUPP']);

export const kernelXattrs: Xattrs = {
  async list(path) {
    // Most files have none, and need no buffer.
    if (((await call(listCall, path, 'llistxattr', [path, null, 0])) ?? 0) === 0) return [];
    const list = Buffer.alloc(MAX_BYTES);
    const length = (await call(listCall, path, 'llistxattr', [path, list, list.length])) ?? 0;
    return list
      .toString('utf8', 0, length)
      .split('\0')
      .filter((name) => name !== '');
  },
  async get(path, name) {
    const value = Buffer.alloc(MAX_BYTES);
    const length = await call(getCall, path, `lgetxattr ${name}`, [path, name, value, value.length]);
    return length === undefined ? undefined : Buffer.from(value.subarray(0, length));
  },
  async set(path, name, value) {
    const done = await call(setCall, path, `lsetxattr ${name}`, [path, name, value, value.length, 0]);
    if (done === undefined) throw new XattrError(path, 'ENOTSUP', `lsetxattr ${name}`);
  },
};

/** undefined where the attribute or the file system's support for it is absent. */
function call(func: typeof setCall, path: string, operation: string, args: unknown[]): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    func.async(...args, (failure: Error | null, result: number) => {
      if (failure !== null) return reject(failure);
      if (result >= 0) return resolve(result);
      const code = getSystemErrorName(-koffi.errno());
      if (ABSENT.has(code)) resolve(undefined);
      else reject(new XattrError(path, code, operation));
    });
  });
}
