import type { ImageStatusRequest, ImageStatusResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { verboseJson } from '../grpc/verbose-json.js';
import { ImageIndex } from './image-index.js';
import { imageMessage } from './image-message.js';

/** CRI ImageStatus: an image that is not there is an empty reply, not an error. */
@scoped(Lifecycle.ContainerScoped)
export class ImageStatus {
  constructor(@inject(ImageIndex) private readonly images: ImageIndex) {}

  readonly handle: UnaryCall<ImageStatusRequest, ImageStatusResponse> = (request) => {
    const asked = request.image?.image ?? '';
    if (asked === '') return Promise.reject(invalidArgument('image.image', 'is empty'));
    const image = this.images.find(asked);
    if (image === undefined) return Promise.resolve({ image: undefined, info: {} });
    const info = request.verbose ? { info: verboseJson({ chainID: image.chainId, imageSpec: image.config }) } : {};
    return Promise.resolve({ image: imageMessage(image), info });
  };
}
