import type { Attachment } from '../attachment/attachment.js';
import type { NetworkConfigList } from '../config/network-config.js';
import type { CniResult } from '../result/cni-result.js';

/** An attachment as the cache knows it. */
export interface CachedAttachment {
  readonly networkName: string;
  /** With the netns, args and capability args of its ADD; without them where the file cannot be read, see {@link list}. */
  readonly attachment: Attachment;
  /** The configuration that ADD ran with; absent when what is stored cannot be read. */
  readonly list?: NetworkConfigList;
  /** Absent while ADD has not succeeded: DEL is due all the same. */
  readonly result?: CniResult;
  readonly file: string;
}
