import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadEntry } from 'tar';
import { failedPrecondition } from '../errors.js';
import { ArchiveEntry } from './archive-layout.js';

/** Loaded at first use: it takes 10 MB of memory, and few nodes ever make a checkpoint. */
const loadTar = () => import('tar');

/** A document of an archive; a spec with many mounts is some 100 KiB. */
const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024;

/** In archives the small documents come first: a reader of those need not go through the memory images. */
const ORDER: readonly string[] = [ArchiveEntry.config, ArchiveEntry.spec, ArchiveEntry.status, ArchiveEntry.containerdStatus];

/** Entries that a restore uses; whatever else an archive holds is not unpacked. */
const RESTORED: readonly string[] = [
  ArchiveEntry.config,
  ArchiveEntry.spec,
  ArchiveEntry.rootfsDiff,
  ArchiveEntry.deletedFiles,
  ArchiveEntry.sharedMemory,
  ArchiveEntry.log,
];

/** Writes everything in `directory` into a new tar file that only root can read, and waits until it is on the disk. */
export async function packArchive(directory: string, file: string, signal: AbortSignal): Promise<void> {
  const { create } = await loadTar();
  const names = (await readdir(directory)).sort((a, b) => place(a) - place(b));
  const output = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true });
  await pipeline(Readable.from(create({ cwd: directory, portable: true }, names)), output, { signal });
}

/** Writes a directory's files and directories, with owners and modes, into a tar file. Sockets and FIFOs are left out. */
export async function packTree(directory: string, file: string, signal: AbortSignal): Promise<void> {
  const { create } = await loadTar();
  const output = createWriteStream(file, { flags: 'wx', mode: 0o600 });
  await pipeline(Readable.from(create({ cwd: directory }, ['.'])), output, { signal });
}

/** Writes a tar file of the named files alone, without the directories they lie in. */
export async function packFiles(directory: string, names: readonly string[], file: string): Promise<void> {
  const { create } = await loadTar();
  await create({ cwd: directory, file, portable: true }, [...names]);
}

/** Puts such a file back; what is there already stays as it is. */
export async function unpackTree(file: string, directory: string): Promise<void> {
  const { extract } = await loadTar();
  await extract({ file, cwd: directory, keep: true, preserveOwner: true, strict: true, filter: isPlain });
}

/**
 * Texts of small documents of an archive, which may be compressed. Reading ends when all are found.
 *
 * @throws Error when it is no tar archive or a document is too large
 */
export async function readDocuments(file: string, names: readonly string[]): Promise<Map<string, string>> {
  const { Parser } = await loadTar();
  const found = new Map<string, string>();
  let failure: Error | undefined;
  const parser = new Parser({
    strict: true,
    onReadEntry: (entry) => {
      const name = plainPath(entry.path);
      if (!names.includes(name) || entry.type !== 'File') return void entry.resume();
      if (entry.size > MAX_DOCUMENT_BYTES) failure = new Error(`${name} has ${entry.size} bytes`);
      const chunks: Buffer[] = [];
      entry.on('data', (chunk: Buffer) => chunks.push(chunk));
      entry.on('end', () => found.set(name, Buffer.concat(chunks).toString('utf8')));
    },
  });
  parser.on('error', (error) => (failure ??= error as Error));
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
    parser.write(chunk as Buffer);
    if (failure !== undefined) throw failure;
    if (found.size === names.length) return found;
  }
  parser.end();
  if (failure !== undefined) throw failure as Error;
  return found;
}

/** Unpacks what a restore uses. The archive is not trusted: only plain files with known names are taken, and they belong to root. @throws FAILED_PRECONDITION when it is damaged */
export async function unpackArchive(file: string, directory: string): Promise<void> {
  const { extract } = await loadTar();
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const filter = (path: string, entry: ReadEntry | object) => isPlain(path, entry) && isRestored(plainPath(path));
  try {
    await extract({ file, cwd: directory, preserveOwner: false, filter });
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    // Of tar and zlib; anything else is not the archive's fault.
    throw /^(?:TAR|Z)_/.test(code) ? failedPrecondition(`${file} is damaged: ${message}`) : error;
  }
}

/** Of a name in an archive or directory: whether a restore uses it. */
export function isRestored(path: string): boolean {
  if (RESTORED.includes(path) || path === ArchiveEntry.images) return true;
  return path.startsWith(`${ArchiveEntry.images}/`) && !path.split('/').includes('..');
}

function isPlain(_path: string, entry: ReadEntry | object): boolean {
  const { type } = entry as Partial<ReadEntry>;
  return type === 'File' || type === 'OldFile' || type === 'Directory' || type === 'GNUDumpDir';
}

function plainPath(path: string): string {
  return path.replace(/^(?:\.\/)+/, '').replace(/\/$/, '');
}

function place(name: string): number {
  const at = ORDER.indexOf(name);
  return at === -1 ? ORDER.length : at;
}
