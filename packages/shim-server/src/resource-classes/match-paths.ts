import { readdir, realpath } from 'node:fs/promises';
import { posix } from 'node:path';

/**
 * The paths that a pattern of the shell matches, as Go's filepath.Glob does: `*`, `?`, `[a-z]`, `[^a-z]` and `\` within one
 * component. A path without them is itself, where it exists.
 */
export async function matchPaths(pattern: string): Promise<string[]> {
  const components = pattern.split('/').filter((component) => component !== '');
  let paths = ['/'];
  for (const component of components) {
    paths = (await Promise.all(paths.map((path) => matchIn(path, component)))).flat();
  }
  return paths;
}

async function matchIn(directory: string, component: string): Promise<string[]> {
  if (!/[*?[\\]/.test(component)) {
    const path = posix.join(directory, component);
    return realpath(path).then(
      () => [path],
      () => [],
    );
  }
  const matcher = new RegExp(`^${component.replace(/\\(.)|\[\^?(?:\\.|[^\]\\])+\]|[\s\S]/g, toRegExp)}$`, 's');
  const names = await readdir(directory).catch((): string[] => []);
  return names.filter((name) => matcher.test(name)).sort().map((name) => posix.join(directory, name));
}

function toRegExp(part: string, escaped: string | undefined): string {
  if (escaped !== undefined) return escaped.replace(/[^\w]/, '\\$&');
  if (part === '*') return '.*';
  if (part === '?') return '.';
  if (part.length > 1) return part;
  return part.replace(/[^\w]/, '\\$&');
}
