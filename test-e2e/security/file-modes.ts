import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * What lies below a daemon's directories and is not as SECURITY.md says, in words: another mode, or not listed there at all. Shared memory belongs to pods.
 *
 * @param places directories by the names that the document has for them, for example `<state_dir>`
 */
export async function undocumentedFiles(checkout: string, places: Readonly<Record<string, string>>): Promise<string[]> {
  const document = await readFile(join(checkout, 'SECURITY.md'), 'utf8');
  const rows = [...document.matchAll(/^\| `(<\w+>)([^`]*)` \| \w+ \| `(\d{4})` \|/gm)].map(([, place = '', rest = '', mode = '']) => {
    const pattern = rest.replace(/[.+()]/g, '\\$&').replaceAll('<id>', '[0-9a-f]{64}').replaceAll('*', '[^/]+');
    return { place, pattern: new RegExp(`^${pattern}$`), mode: parseInt(mode, 8) };
  });
  const found: string[] = [];
  for (const [place, directory] of Object.entries(places)) {
    const names = (await readdir(directory, { recursive: true })).filter((name) => !/(?:^|\/)shm\//.test(name));
    for (const name of ['', ...names.map((below) => `/${below}`)]) {
      const mode = (await lstat(`${directory}${name}`)).mode & 0o7777;
      const row = rows.find((one) => one.place === place && one.pattern.test(name));
      if (row?.mode !== mode) found.push(`${place}${name}: ${mode.toString(8)}, documented ${row?.mode.toString(8) ?? 'nothing'}`);
    }
  }
  return found;
}
