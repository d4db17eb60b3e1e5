import { readdir, readlink } from 'node:fs/promises';

/** Links that are read at once for one process. */
const LINKS_AT_ONCE = 64;

export interface OpenFiles {
  readonly descriptors: bigint;
  readonly sockets: bigint;
}

/** Counts the open files of processes; one that ends meanwhile counts as far as it was seen. */
export async function countOpenFiles(pids: readonly number[], proc: string): Promise<OpenFiles> {
  let descriptors = 0n;
  let sockets = 0n;
  for (const pid of pids) {
    const directory = `${proc}/${pid}/fd`;
    const names = await readdir(directory).catch((): string[] => []);
    descriptors += BigInt(names.length);
    for (let from = 0; from < names.length; from += LINKS_AT_ONCE) {
      const links = await Promise.all(
        names.slice(from, from + LINKS_AT_ONCE).map((name) => readlink(`${directory}/${name}`).catch(() => '')),
      );
      sockets += BigInt(links.filter((link) => link.startsWith('socket:')).length);
    }
  }
  return { descriptors, sockets };
}
