import type { Attachment } from '../attachment/attachment.js';
import type { CachedAttachment } from '../cache/cached-attachment.js';
import type { NetworkConfigList } from '../config/network-config.js';
import type { PluginRunner } from '../plugin/plugin-runner.js';
import type { CniResult } from '../result/cni-result.js';

export interface CniOptions {
  /** Searched in this order; also CNI_PATH of every plugin. */
  readonly binDirs: readonly string[];
  /** Attachments are stored below its `results`, as libcni stores them below /var/lib/cni. */
  readonly cacheDir: string;
  /** Default: a ProcessPluginRunner. */
  readonly runner?: PluginRunner;
  /** Milliseconds for a whole operation, all its plugins together, unless the call gives its own. Default 120,000. */
  readonly defaultTimeoutMs?: number;
  /** What plugins see of the environment beside CNI_*. Default: pickPluginEnvironment(process.env). */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface OperationOptions {
  /** Stops the plugin that runs, with its children, and rejects with CniError `aborted`. */
  readonly signal?: AbortSignal;
  /** Milliseconds for the whole operation. */
  readonly timeoutMs?: number;
  /** More environment for the plugins of this operation, e.g. TRACEPARENT. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Names an attachment that is still in use (SPEC.md section 2, GC). */
export interface ValidAttachment {
  readonly containerId: string;
  readonly ifName: string;
}

export class Cni {
  constructor(readonly options: CniOptions) {}
  add(_list: NetworkConfigList, _attachment: Attachment, _options?: OperationOptions): Promise<CniResult> {
    throw new Error('to follow');
  }
  del(_list: NetworkConfigList, _attachment: Attachment, _options?: OperationOptions): Promise<void> {
    throw new Error('to follow');
  }
  /** DEL by what the cache holds: configuration, args and capability args of the ADD. `netns` replaces the stored path. */
  delCached(_cached: CachedAttachment, _options?: OperationOptions & { readonly netns?: string }): Promise<void> {
    throw new Error('to follow');
  }
  check(_list: NetworkConfigList, _attachment: Attachment, _options?: OperationOptions): Promise<void> {
    throw new Error('to follow');
  }
  gc(_list: NetworkConfigList, _valid: readonly ValidAttachment[], _options?: OperationOptions): Promise<void> {
    throw new Error('to follow');
  }
  status(_list: NetworkConfigList, _options?: OperationOptions): Promise<void> {
    throw new Error('to follow');
  }
  version(_pluginType: string, _options?: OperationOptions): Promise<string[]> {
    throw new Error('to follow');
  }
  validate(_list: NetworkConfigList, _options?: OperationOptions): Promise<void> {
    throw new Error('to follow');
  }
  cachedAttachments(_filter?: { readonly containerId?: string }): Promise<CachedAttachment[]> {
    throw new Error('to follow');
  }
  cached(_containerId: string, _networkName: string, _ifName: string): Promise<CachedAttachment | undefined> {
    throw new Error('to follow');
  }
}
