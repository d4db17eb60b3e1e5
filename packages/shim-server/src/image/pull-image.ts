import type { PullImageRequest, PullImageResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { RuntimeHandlers } from '../runtime/runtime-handlers.js';
import { isPinned } from './image-labels.js';
import { ImagePuller } from './image-puller.js';

/** CRI PullImage, for the snapshotter of the handler that `image.runtime_handler` names; the answer is the image's id. A pull ends when its caller goes away. */
@scoped(Lifecycle.ContainerScoped)
export class PullImage {
  constructor(
    @inject(ImagePuller) private readonly puller: ImagePuller,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
  ) {}

  readonly handle: UnaryCall<PullImageRequest, PullImageResponse> = async ({ image, auth }, { signal }) => {
    if (image === undefined || image.image === '') throw invalidArgument('image.image', 'is empty');
    const { snapshotter } = this.handlers.require(image.runtimeHandler);
    const pulled = await this.puller.pull({
      reference: image.image,
      snapshotter,
      pinned: isPinned(image.annotations),
      signal,
      ...(auth === undefined ? {} : { auth }),
    });
    return { imageRef: pulled.id };
  };
}
