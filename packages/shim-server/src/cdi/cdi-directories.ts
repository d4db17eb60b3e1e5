import type { BigIntStats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { failedPrecondition } from '../errors.js';
import type { CdiDocument, ContainerEdits } from './cdi-document.js';
import type { RequestedDevice } from './requested-devices.js';

/** Far above any real file. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Kernel times of files advance in ticks; a file this young may change again without another time. */
const FRESH_MS = 2_000;

interface LoadedFile {
  readonly path: string;
  readonly document?: CdiDocument;
  /** Why there is none. */
  readonly problem?: string;
}

interface CachedFile extends LoadedFile {
  /** Identity, size and times. */
  readonly print: string;
}

interface Definition {
  readonly file: LoadedFile;
  readonly document: CdiDocument;
  readonly edits: ContainerEdits;
}

/** What the directories define at one moment. */
interface Definitions {
  readonly devices: ReadonlyMap<string, Definition>;
  /** Devices that two files of one directory define: nobody can say which is meant. */
  readonly conflicts: ReadonlyMap<string, readonly string[]>;
  readonly files: readonly LoadedFile[];
}

/**
 * The CDI specification files of a node, `*.json` and `*.yaml` directly below the directories. They are looked at when a device is
 * asked for, and read again where they changed: neither a new file nor a new directory needs a restart.
 *
 * A device that several directories define is the later directory's. A file that is broken takes nothing from the others.
 */
export class CdiDirectories {
  private cached: ReadonlyMap<string, CachedFile> = new Map();

  /** @param warn is told of a file that cannot be used, once for each change of it. */
  constructor(
    private readonly directories: readonly string[],
    private readonly warn: (file: string, problem: string) => void = () => undefined,
  ) {}

  /**
   * The edits for the devices, in their order; those of a file as a whole come before the first of its devices.
   *
   * @throws FAILED_PRECONDITION naming the field of a device that no file defines, or that two files of one directory do.
   */
  async editsFor(requested: readonly RequestedDevice[]): Promise<ContainerEdits[]> {
    if (requested.length === 0) return [];
    const definitions = await this.definitions();
    const found = requested.map((device) => definitions.devices.get(device.name) ?? this.refuse(device, definitions));
    const seen = new Set<CdiDocument>();
    return found.flatMap(({ document, edits }) => {
      if (seen.has(document)) return [edits];
      seen.add(document);
      return [document.containerEdits, edits];
    });
  }

  private refuse({ field, name }: RequestedDevice, { conflicts, files }: Definitions): never {
    const definedBy = conflicts.get(name);
    const shown = JSON.stringify(name);
    if (definedBy !== undefined) {
      throw failedPrecondition(`${field}: CDI device ${shown} is defined more than once: by ${definedBy.join(' and ')}`);
    }
    const broken = files.flatMap(({ path, problem }) => (problem === undefined ? [] : `${path}: ${problem}`));
    const unusable = broken.length === 0 ? '' : `; files that cannot be used: ${broken.join(', ')}`;
    throw failedPrecondition(`${field}: no CDI device ${shown} is defined in ${this.directories.join(', ')}${unusable}`);
  }

  private async definitions(): Promise<Definitions> {
    const byDirectory = await Promise.all(this.directories.map((directory) => this.load(directory)));
    this.cached = new Map(byDirectory.flat().map((file) => [file.path, file]));
    const devices = new Map<string, Definition>();
    const conflicts = new Map<string, string[]>();
    for (const files of byDirectory) {
      for (const [name, definitions] of definedIn(files)) {
        const [first] = definitions;
        conflicts.delete(name);
        devices.delete(name);
        if (definitions.length > 1) conflicts.set(name, definitions.map(({ file }) => file.path));
        else if (first !== undefined) devices.set(name, first);
      }
    }
    return { devices, conflicts, files: byDirectory.flat() };
  }

  private async load(directory: string): Promise<CachedFile[]> {
    const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') this.warn(directory, String(error.code));
      return [];
    });
    const files = names.filter((name) => /\.(json|yaml)$/.test(name)).sort();
    return (await Promise.all(files.map((name) => this.loadFile(join(directory, name))))).flat();
  }

  private async loadFile(path: string): Promise<CachedFile[]> {
    let found: BigIntStats;
    try {
      found = await stat(path, { bigint: true });
    } catch (error) {
      // Removed since the directory was read, or a link to nothing.
      return [this.remember({ path, print: '', problem: String((error as NodeJS.ErrnoException).code) })];
    }
    if (found.isDirectory()) return [];
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = found;
    const print = [dev, ino, size, mtimeNs, ctimeNs].join(' ');
    const known = this.cached.get(path);
    if (known?.print === print && Math.abs(Date.now() - Number(ctimeMs)) > FRESH_MS) return [known];
    if (!found.isFile()) return [this.remember({ path, print, problem: 'is not a regular file' })];
    if (size > MAX_FILE_BYTES) return [this.remember({ path, print, problem: `is larger than ${MAX_FILE_BYTES} bytes` })];
    try {
      // With its YAML parser it takes 8 MB of memory, which nodes without such files are spared.
      const { parseCdiDocument } = await import('./cdi-document.js');
      return [{ path, print, document: parseCdiDocument(await readFile(path, 'utf8')) }];
    } catch (error) {
      return [this.remember({ path, print, problem: (error as Error).message })];
    }
  }

  private remember(file: CachedFile & { problem: string }): CachedFile {
    const before = this.cached.get(file.path);
    if (before?.problem !== file.problem || before.print !== file.print) this.warn(file.path, file.problem);
    return file;
  }
}

/** Each device of one directory's files, with every file that defines it. */
function definedIn(files: readonly LoadedFile[]): Map<string, Definition[]> {
  const defined = new Map<string, Definition[]>();
  for (const file of files) {
    const { document } = file;
    if (document === undefined) continue;
    for (const { name, containerEdits } of document.devices) {
      const qualified = `${document.kind}=${name}`;
      defined.set(qualified, [...(defined.get(qualified) ?? []), { file, document, edits: containerEdits }]);
    }
  }
  return defined;
}
