import type { CachedAttachment, Cni, NetworkConfigList } from '@criquet/network-cni';
import { failedPrecondition } from '../errors.js';

export interface DetachOptions {
  /** The network namespace, '' when it is gone. */
  readonly netns: string;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** The networks that are configured at the moment: they stand in for a configuration that cannot be read. */
  readonly configured: readonly NetworkConfigList[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * DEL of an attachment by the configuration that its ADD ran with. Where the cache file was damaged (a full disk, a power failure) the network's
 * configuration of today is the best there is.
 *
 * @throws FAILED_PRECONDITION when there is neither: nobody can say then what is to be undone; CniError
 */
export async function detachCached(cni: Cni, cached: CachedAttachment, { netns, timeoutMs, configured, signal }: DetachOptions): Promise<void> {
  const list = cached.list ?? configured.find(({ name }) => name === cached.networkName);
  if (list === undefined) {
    throw failedPrecondition(
      `${cached.file} cannot be read, and no network ${JSON.stringify(cached.networkName)} is configured: put its configuration back, or remove the file to give the attachment up`,
    );
  }
  await cni.delCached(cached, { netns, list, timeoutMs, ...(signal === undefined ? {} : { signal }) });
}
