import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { LinuxSeccomp, LinuxSeccompArg, LinuxSyscall, SeccompAction } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument } from '../errors.js';

const ACTIONS: readonly string[] = [
  'SCMP_ACT_KILL',
  'SCMP_ACT_KILL_PROCESS',
  'SCMP_ACT_KILL_THREAD',
  'SCMP_ACT_TRAP',
  'SCMP_ACT_ERRNO',
  'SCMP_ACT_TRACE',
  'SCMP_ACT_ALLOW',
  'SCMP_ACT_LOG',
  'SCMP_ACT_NOTIFY',
];
const OPERATORS: readonly string[] = ['NE', 'LT', 'LE', 'EQ', 'GE', 'GT', 'MASKED_EQ'].map(
  (name) => `SCMP_CMP_${name}`,
);

/** Far above any real profile; the default one is 20 KB. */
const MAX_BYTES = 1024 * 1024;

/**
 * Reads a seccomp profile of the node, in the JSON of OCI's `linux.seccomp` (fields that it does not know are left out, so
 * Docker's form works as far as it is the same).
 *
 * @throws INVALID_ARGUMENT for a relative path; FAILED_PRECONDITION where the file is missing, no regular file, too big or not
 * a profile. Nothing is ever read as "no profile".
 */
export async function loadSeccompProfile(field: string, path: string): Promise<LinuxSeccomp> {
  if (!isAbsolute(path)) throw invalidArgument(field, `${JSON.stringify(path)} is not an absolute path`);
  const fail = (why: string, cause?: unknown): Error => {
    const error = failedPrecondition(`${field}: seccomp profile ${JSON.stringify(path)} ${why}`);
    if (cause !== undefined) error.cause = cause;
    return error;
  };
  const text = await readProfile(path, fail);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw fail('is not valid JSON', error);
  }
  const wrong = (where: string): Error => fail(`is not a seccomp profile: ${where}`);
  const profile = object(document, () => wrong('not an object'));
  const result: LinuxSeccomp = { defaultAction: action(profile['defaultAction'], () => wrong('defaultAction')) };
  const errno = optionalInteger(profile['defaultErrnoRet'], () => wrong('defaultErrnoRet'));
  if (errno !== undefined) result.defaultErrnoRet = errno;
  for (const key of ['architectures', 'flags'] as const) {
    const list = optionalStrings(profile[key], () => wrong(key));
    if (list !== undefined) result[key] = list;
  }
  for (const key of ['listenerPath', 'listenerMetadata'] as const) {
    const value = profile[key];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') throw wrong(key);
    result[key] = value;
  }
  const syscalls = profile['syscalls'] ?? [];
  if (!Array.isArray(syscalls)) throw wrong('syscalls');
  result.syscalls = syscalls.map((entry: unknown, index) =>
    parseSyscall(entry, (what) => wrong(`syscalls[${index}]${what}`)),
  );
  return result;
}

async function readProfile(path: string, fail: (why: string, cause?: unknown) => Error): Promise<string> {
  // Without O_NONBLOCK a FIFO in the file's place would hold the open for ever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw fail(error.code === 'ENOENT' ? 'does not exist' : `cannot be opened (${error.code})`, error);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw fail('is not a regular file');
    if (stats.size > MAX_BYTES) throw fail(`is larger than ${MAX_BYTES} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

function parseSyscall(entry: unknown, wrong: (what: string) => Error): LinuxSyscall {
  const syscall = object(entry, () => wrong(''));
  const names = optionalStrings(syscall['names'], () => wrong('.names'));
  if (names === undefined || names.length === 0) throw wrong('.names');
  const result: LinuxSyscall = { names, action: action(syscall['action'], () => wrong('.action')) };
  const errno = optionalInteger(syscall['errnoRet'], () => wrong('.errnoRet'));
  if (errno !== undefined) result.errnoRet = errno;
  const args = syscall['args'] ?? [];
  if (!Array.isArray(args)) throw wrong('.args');
  if (args.length > 0) {
    result.args = args.map((arg: unknown, index) => parseArg(arg, (what) => wrong(`.args[${index}]${what}`)));
  }
  return result;
}

function parseArg(entry: unknown, wrong: (what: string) => Error): LinuxSeccompArg {
  const arg = object(entry, () => wrong(''));
  const op = arg['op'];
  if (typeof op !== 'string' || !OPERATORS.includes(op)) throw wrong('.op');
  const required = (key: string): number => {
    const value = optionalInteger(arg[key], () => wrong(`.${key}`));
    if (value === undefined) throw wrong(`.${key}`);
    return value;
  };
  const result: LinuxSeccompArg = {
    index: required('index'),
    value: required('value'),
    op: op as LinuxSeccompArg['op'],
  };
  const valueTwo = optionalInteger(arg['valueTwo'], () => wrong('.valueTwo'));
  if (valueTwo !== undefined) result.valueTwo = valueTwo;
  return result;
}

function object(value: unknown, wrong: () => Error): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong();
  return value as Record<string, unknown>;
}

function action(value: unknown, wrong: () => Error): SeccompAction {
  if (typeof value !== 'string' || !ACTIONS.includes(value)) throw wrong();
  return value as SeccompAction;
}

function optionalStrings(value: unknown, wrong: () => Error): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) throw wrong();
  return value as string[];
}

/** Beyond 2^53 a JSON number is no longer exact here: a filter must not be guessed. */
function optionalInteger(value: unknown, wrong: () => Error): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw wrong();
  return value as number;
}
