import { Image, type StreamImagesRequest, type StreamImagesResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { inBatches } from '../grpc/batches.js';
import type { StreamCall } from '../grpc/call-context.js';
import { ListImages } from './list-images.js';

/** CRI StreamImages: ListImages in several messages. */
@scoped(Lifecycle.ContainerScoped)
export class StreamImages {
  constructor(@inject(ListImages) private readonly images: ListImages) {}

  readonly handle: StreamCall<StreamImagesRequest, StreamImagesResponse> = (request) => this.stream(request);

  private async *stream({ filter }: StreamImagesRequest): AsyncGenerator<StreamImagesResponse> {
    for (const images of inBatches(Image, this.images.list(filter))) yield { images };
  }
}
