import type { Image, ImageFilter, ListImagesRequest, ListImagesResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { ImageIndex } from './image-index.js';
import { imageMessage } from './image-message.js';

/** CRI ListImages; a filter names one image in any form. */
@scoped(Lifecycle.ContainerScoped)
export class ListImages {
  constructor(@inject(ImageIndex) private readonly images: ImageIndex) {}

  readonly handle: UnaryCall<ListImagesRequest, ListImagesResponse> = ({ filter }) =>
    Promise.resolve({ images: this.list(filter) });

  list(filter: ImageFilter | undefined): Image[] {
    const wanted = filter?.image?.image ?? '';
    const one = wanted === '' ? undefined : this.images.find(wanted);
    const found = wanted === '' ? this.images.all() : one === undefined ? [] : [one];
    return found.map(imageMessage);
  }
}
