import { Descriptor as WireDescriptor } from '../gen/types/descriptor.js';
import type { Descriptor } from '../services/images.js';

export function fromWireDescriptor(descriptor: WireDescriptor | undefined): Descriptor {
  const { mediaType, digest, size, annotations } = descriptor ?? WireDescriptor.fromPartial({});
  return { mediaType, digest, size, annotations };
}

export function toWireDescriptor({ mediaType, digest, size, annotations }: Descriptor): WireDescriptor {
  return { mediaType, digest, size, annotations };
}
