import type { BigIntStats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isConfigFile, isPluginFile } from './load-config-lists.js';

export interface DirectoryFingerprint {
  /** Equal for equal content, as far as file system times tell. */
  readonly text: string;
  /** A file changed so recently that another change could have the same time and size. */
  readonly fresh: boolean;
}

/** Kernel times of files advance in ticks of up to 10 ms; other file systems are coarser. */
const FRESH_MS = 2_000;

/** What tells one content of a configuration directory from another: names, identity, size and times of its files and plugin folders. */
export async function fingerprint(dir: string): Promise<DirectoryFingerprint> {
  const lines = await describeDirectory(dir, isConfigFile, true);
  const newest = lines.reduce((latest, line) => Math.max(latest, line.changedMs), 0);
  return { text: lines.map((line) => line.text).join('\n'), fresh: Math.abs(Date.now() - newest) < FRESH_MS };
}

interface Line {
  readonly text: string;
  readonly changedMs: number;
}

async function describeDirectory(dir: string, wanted: (name: string) => boolean, intoFolders: boolean): Promise<Line[]> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    return [{ text: `${dir} ${codeOf(error)}`, changedMs: 0 }];
  }
  const described = names.sort().map(async (name): Promise<Line[]> => {
    const path = join(dir, name);
    try {
      const found = await stat(path, { bigint: true });
      if (found.isDirectory()) return intoFolders ? await describeDirectory(path, isPluginFile, false) : [];
      return wanted(name) ? [describeFile(path, found)] : [];
    } catch (error) {
      return wanted(name) ? [{ text: `${path} ${codeOf(error)}`, changedMs: 0 }] : [];
    }
  });
  return (await Promise.all(described)).flat();
}

function describeFile(path: string, found: BigIntStats): Line {
  const { dev, ino, size, mtimeNs, ctimeNs } = found;
  return { text: [path, dev, ino, size, mtimeNs, ctimeNs].join(' '), changedMs: Number(found.ctimeMs) };
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code);
}
