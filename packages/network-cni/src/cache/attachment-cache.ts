import { mkdir, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Attachment } from '../attachment/attachment.js';
import { interfaceNameFault, networkNameFault } from '../attachment/validate-names.js';
import type { NetworkConfigList } from '../config/network-config.js';
import type { CniResult } from '../result/cni-result.js';
import type { CachedAttachment } from './cached-attachment.js';
import { decodeCacheFile, encodeCacheFile } from './cache-file.js';

/**
 * Attachments on disk, as libcni stores them: `<cacheDir>/results/<network>-<containerId>-<ifName>`, mode 0600. Names must have been
 * validated: they become file names. Files are replaced atomically; they survive a killed process, not necessarily a power failure,
 * after which no attachment exists any more either.
 */
export class AttachmentCache {
  readonly #results: string;

  constructor(private readonly cacheDir: string) {
    this.#results = join(cacheDir, 'results');
  }

  async write(list: NetworkConfigList, attachment: Attachment, result?: CniResult): Promise<void> {
    const name = fileName(list.name, attachment.containerId, attachment.ifName);
    // not in `results`: libcni and this class take every file there for an attachment
    const temporary = join(this.cacheDir, `.${name}.tmp`);
    const file = encodeCacheFile(list, attachment, result);
    const store = async () => {
      await writeFile(temporary, file, { mode: 0o600 });
      await rename(temporary, join(this.#results, name));
    };
    // Only the first one of a node finds no directory.
    await store().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      await mkdir(this.#results, { recursive: true, mode: 0o700 });
      await store();
    });
  }

  /** undefined when there is none, or none that can be read. */
  async read(containerId: string, networkName: string, ifName: string): Promise<CachedAttachment | undefined> {
    return this.#readFile(join(this.#results, fileName(networkName, containerId, ifName)));
  }

  /**
   * Every readable attachment, or those of one container, by file name. Of all, what cannot be read is passed over, so that it harms no
   * other; of one container, such a file is an attachment of which nothing is known but what its name tells.
   */
  async readAll(containerId?: string): Promise<CachedAttachment[]> {
    const attachments: CachedAttachment[] = [];
    for (const name of await this.#names()) {
      if (containerId !== undefined && !name.includes(`-${containerId}-`)) continue;
      const file = join(this.#results, name);
      const attachment = (await this.#readFile(file)) ?? (containerId === undefined ? undefined : namedBy(file, name, containerId));
      // a name is ambiguous: `a-b` can be part of an id or of a network's name
      if (attachment !== undefined && (containerId ?? attachment.attachment.containerId) === attachment.attachment.containerId) {
        attachments.push(attachment);
      }
    }
    return attachments;
  }

  /** The names of the files that are no readable attachment: `<network>-<containerId>-<ifName>` where an attachment was damaged. */
  async unreadable(): Promise<string[]> {
    const names: string[] = [];
    for (const name of await this.#names()) if ((await this.#readFile(join(this.#results, name))) === undefined) names.push(name);
    return names;
  }

  /** Succeeds when there is none. */
  async remove(containerId: string, networkName: string, ifName: string): Promise<void> {
    const name = fileName(networkName, containerId, ifName);
    await removeFile(join(this.cacheDir, `.${name}.tmp`));
    await removeFile(join(this.#results, name));
  }

  /** What a process that was killed while it wrote has left of a container's files, of interfaces without `-` in their names. Not while one is written. */
  async removeUnfinished(containerId: string): Promise<void> {
    for (const name of await namesIn(this.cacheDir)) {
      const [, before = ''] = /^\.(.+)-[^-]+\.tmp$/.exec(name) ?? [];
      if (before.endsWith(`-${containerId}`)) await removeFile(join(this.cacheDir, name));
    }
  }

  async #names(): Promise<string[]> {
    return (await namesIn(this.#results)).sort();
  }

  async #readFile(file: string): Promise<CachedAttachment | undefined> {
    const json = await readFile(file, 'utf8').catch(() => undefined);
    return json === undefined ? undefined : decodeCacheFile(json, file);
  }
}

async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}

/** What the name of a damaged file tells; undefined where it tells nothing that can be used. */
function namedBy(file: string, name: string, containerId: string): CachedAttachment | undefined {
  const at = name.indexOf(`-${containerId}-`);
  const [networkName, ifName] = [name.slice(0, at), name.slice(at + containerId.length + 2)];
  if (networkNameFault(networkName) ?? interfaceNameFault(ifName)) return undefined;
  return { networkName, attachment: { containerId, netns: '', ifName, args: [], capabilityArgs: {} }, file };
}

function fileName(networkName: string, containerId: string, ifName: string): string {
  return `${networkName}-${containerId}-${ifName}`;
}
