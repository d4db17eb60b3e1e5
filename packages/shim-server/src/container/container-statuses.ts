import { ContainerStatusResponse, type ContainerStatus, type ImageSpec } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { EncodedReply } from '../grpc/encoded-reply.js';
import { ImageIndex } from '../image/image-index.js';
import type { ContainerRecord } from '../state/container-record.js';
import { Token, type Containers } from '../tokens.js';
import { containerStatus } from './container-message.js';

/** CRI ContainerStatus of records, with the image's present name. */
@scoped(Lifecycle.ContainerScoped)
export class ContainerStatuses {
  /** A record is replaced when it changes, so what it was encoded to goes with it. */
  private readonly replies = new WeakMap<ContainerRecord, { readonly image: string | undefined; readonly reply: EncodedReply }>();

  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(ImageIndex) private readonly images: ImageIndex,
  ) {}

  of(container: ContainerRecord): ContainerStatus {
    return containerStatus(container, this.image(container));
  }

  /** The reply of ContainerStatus without `info`, encoded once for each change of the record and of the image's name. */
  encoded(container: ContainerRecord): EncodedReply {
    const image = this.image(container);
    const known = this.replies.get(container);
    if (known !== undefined && known.image === image?.image) return known.reply;
    const reply = EncodedReply.of(ContainerStatusResponse, { status: containerStatus(container, image), info: {} });
    this.replies.set(container, { image: image?.image, reply });
    return reply;
  }

  /** The records of a pod's containers, as they are now. */
  recordsOf(sandboxId: string): ContainerRecord[] {
    return this.containers.all().filter((container) => container.sandboxId === sandboxId && container.phase !== 'creating');
  }

  /** The image by a tag it has now; as it was asked for when it is gone. */
  private image(container: ContainerRecord): ImageSpec | undefined {
    const asked = container.config.image;
    if (asked === undefined) return undefined;
    const tag = this.images.find(container.imageId)?.repoTags[0];
    return tag === undefined ? asked : { ...asked, image: tag };
  }
}
