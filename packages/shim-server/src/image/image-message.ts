import type { Image } from '@criquet/cri-api';
import type { IndexedImage } from './image-index.js';

/** Of CRI's Int64Value. */
const MAX_INT64 = 2n ** 63n - 1n;

/** CRI Image. `uid` and `username` say whom the image's own User names: one of them, or neither for root by default. */
export function imageMessage(image: IndexedImage): Image {
  const user = (image.config.config?.User ?? '').split(':')[0] ?? '';
  // A number that CRI cannot hold is shown as a name: the kubelet then refuses it where a pod must not run as root, as containers of it are refused here.
  const numeric = /^\d+$/.test(user) && BigInt(user) <= MAX_INT64;
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
