import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Attachment } from '../attachment/attachment.js';
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
    await mkdir(this.#results, { recursive: true, mode: 0o700 });
    await writeFile(temporary, encodeCacheFile(list, attachment, result), { mode: 0o600 });
    await rename(temporary, join(this.#results, name));
  }

  /** undefined when there is none, or none that can be read. */
  async read(containerId: string, networkName: string, ifName: string): Promise<CachedAttachment | undefined> {
    return this.#readFile(join(this.#results, fileName(networkName, containerId, ifName)));
  }

  /**
   * Every readable attachment, or those of one container, by file name; what cannot be read is passed over, so that it harms no
   * other.
   */
  async readAll(containerId?: string): Promise<CachedAttachment[]> {
    const names = await readdir(this.#results).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const attachments: CachedAttachment[] = [];
    for (const name of names.sort()) {
      if (containerId !== undefined && !name.includes(`-${containerId}-`)) continue;
      const attachment = await this.#readFile(join(this.#results, name));
      // a name is ambiguous: `a-b` can be part of an id or of a network's name
      if (attachment !== undefined && (containerId ?? attachment.attachment.containerId) === attachment.attachment.containerId) {
        attachments.push(attachment);
      }
    }
    return attachments;
  }

  /** Succeeds when there is none. */
  async remove(containerId: string, networkName: string, ifName: string): Promise<void> {
    const name = fileName(networkName, containerId, ifName);
    await rm(join(this.cacheDir, `.${name}.tmp`), { force: true });
    await rm(join(this.#results, name), { force: true });
  }

  async #readFile(file: string): Promise<CachedAttachment | undefined> {
    const json = await readFile(file, 'utf8').catch(() => undefined);
    return json === undefined ? undefined : decodeCacheFile(json, file);
  }
}

function fileName(networkName: string, containerId: string, ifName: string): string {
  return `${networkName}-${containerId}-${ifName}`;
}
