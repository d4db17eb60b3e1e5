import type { CallOptions } from '../call-options.js';
import { VersionService } from '../gen/services/version/v1/version.js';
import type { Channel } from '../grpc/channel.js';

/** The version service (containerd.services.version.v1). */
export interface Version {
  get(options?: CallOptions): Promise<VersionReply>;
}

export interface VersionReply {
  /** For example `2.1.9`, `v2.4.2`, or with a distribution's suffix. */
  readonly version: string;
  readonly revision: string;
}

export function versionService(channel: Channel): Version {
  return {
    async get(options) {
      const { version, revision } = await channel.unary(VersionService.version, {}, options);
      return { version, revision };
    },
  };
}
