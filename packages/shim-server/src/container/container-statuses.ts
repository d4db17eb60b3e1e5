import type { ContainerStatus } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ImageIndex } from '../image/image-index.js';
import type { ContainerRecord } from '../state/container-record.js';
import { Token, type Containers } from '../tokens.js';
import { containerStatus } from './container-message.js';

/** CRI ContainerStatus of records, with the image's present name. */
@scoped(Lifecycle.ContainerScoped)
export class ContainerStatuses {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(ImageIndex) private readonly images: ImageIndex,
  ) {}

  of(container: ContainerRecord): ContainerStatus {
    return containerStatus(container, this.image(container));
  }

  /** The records of a pod's containers, as they are now. */
  recordsOf(sandboxId: string): ContainerRecord[] {
    return this.containers.all().filter((container) => container.sandboxId === sandboxId && container.phase !== 'creating');
  }

  /** The image by a tag it has now; as it was asked for when it is gone. */
  private image(container: ContainerRecord) {
    const asked = container.config.image;
    if (asked === undefined) return undefined;
    const tag = this.images.find(container.imageId)?.repoTags[0];
    return tag === undefined ? asked : { ...asked, image: tag };
  }
}
