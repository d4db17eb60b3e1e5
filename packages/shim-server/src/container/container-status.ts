import type { ContainerStatusRequest, ContainerStatusResponse } from '@criquet/cri-api';
import { decodeSpec, type Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { ImageIndex } from '../image/image-index.js';
import { verboseJson } from '../grpc/verbose-json.js';
import type { ContainerRecord } from '../state/container-record.js';
import { Token, type Containers } from '../tokens.js';
import { containerStatus } from './container-message.js';

/** CRI ContainerStatus; verbose adds `info`, a JSON text with the process, the snapshot and the runtime spec. */
@scoped(Lifecycle.ContainerScoped)
export class GetContainerStatus {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(ImageIndex) private readonly images: ImageIndex,
  ) {}

  readonly handle: UnaryCall<ContainerStatusRequest, ContainerStatusResponse> = async (request, { signal }) => {
    const container = this.containers.require(request.containerId);
    const status = containerStatus(container, this.image(container));
    return { status, info: request.verbose ? { info: await this.info(container, signal) } : {} };
  };

  /** The image by a tag it has now; as it was asked for when it is gone. */
  private image(container: ContainerRecord) {
    const asked = container.config.image;
    if (asked === undefined) return undefined;
    const tag = this.images.find(container.imageId)?.repoTags[0];
    return tag === undefined ? asked : { ...asked, image: tag };
  }

  private async info(container: ContainerRecord, signal: AbortSignal): Promise<string> {
    const record = await this.containerd.containers.get(container.id, { signal });
    return verboseJson({
      sandboxID: container.sandboxId,
      pid: container.pid,
      removing: false,
      snapshotKey: record.snapshotKey,
      snapshotter: record.snapshotter,
      runtimeType: record.runtime.name,
      config: container.config,
      runtimeSpec: record.spec === undefined ? undefined : decodeSpec(record.spec),
    });
  }
}
