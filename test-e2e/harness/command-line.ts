import { readFileSync } from 'node:fs';

/**
 * What `read` makes of this process's arguments: options as the rest of a program takes them. `--help` or `-h` prints the comment at the head of
 * the program's `file` instead and ends with exit code 0; where `read` throws, its message is all that is said, and the exit code is 2.
 */
export function readCommandLine<T>(file: string, read: () => T): T {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(headOf(readFileSync(file, 'utf8')));
    process.exit(0);
  }
  try {
    return read();
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}

/** @throws when `value` is none of `allowed`, naming the option and what it takes. */
export function oneOf<const T extends string>(option: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw new Error(`${option}: ${allowed.join(' or ')}, not ${JSON.stringify(value)}`);
  return found;
}

/** @throws when `text` is no whole number from 1 on, naming the option. */
export function countOf(option: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`${option}: a number from 1 on, not ${JSON.stringify(text)}`);
  return Number(text);
}

/** The first comment of a program, without the marks of one. */
function headOf(source: string): string {
  const comment = /^(?:#!.*\n)?\s*\/\*\n?([\s\S]*?)\*\//.exec(source)?.[1] ?? '';
  return `${comment.replaceAll(/^ \* ?/gm, '').trim()}\n`;
}
