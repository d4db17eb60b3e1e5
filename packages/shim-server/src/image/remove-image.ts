import type { RemoveImageRequest, RemoveImageResponse } from '@criquet/cri-api';
import type { Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { ignoreNotFound } from '../runtime/already-gone.js';
import { Token } from '../tokens.js';
import { ImageIndex } from './image-index.js';

/** CRI RemoveImage: by whatever reference, the image goes with all its names. A container made from it keeps its layers. */
@scoped(Lifecycle.ContainerScoped)
export class RemoveImage {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(ImageIndex) private readonly images: ImageIndex,
  ) {}

  readonly handle: UnaryCall<RemoveImageRequest, RemoveImageResponse> = async (request, { signal }) => {
    const asked = request.image?.image ?? '';
    if (asked === '') throw invalidArgument('image.image', 'is empty');
    const image = this.images.find(asked);
    if (image === undefined) return {};
    const names = this.images.names(image.id);
    for (const [index, name] of names.entries()) {
      // The last one waits for the garbage collection: the space is free when the call returns.
      const sync = index === names.length - 1;
      await this.containerd.images.delete(name, { sync, signal }).catch(ignoreNotFound);
      await this.images.refresh(name);
    }
    return {};
  };
}
