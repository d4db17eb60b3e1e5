import type { Image } from '@criquet/cri-api';
import type { IndexedImage } from './image-index.js';

/** CRI Image. `uid` and `username` say whom the image's own User names: one of them, or neither for root by default. */
export function imageMessage(image: IndexedImage): Image {
  const user = (image.config.config?.User ?? '').split(':')[0] ?? '';
  const numeric = /^\d+$/.test(user);
  return {
    id: image.id,
    repoTags: [...image.repoTags],
    repoDigests: [...image.repoDigests],
    size: image.size,
    uid: numeric ? { value: BigInt(user) } : undefined,
    username: numeric ? '' : user,
    spec: { image: image.id, annotations: {}, userSpecifiedImage: '', runtimeHandler: '', imageRef: '' },
    pinned: image.pinned,
  };
}
