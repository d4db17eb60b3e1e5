import { ListImagesResponse } from '@criquet/cri-api';
import { test } from 'tap';
import { imageMessage } from '../../src/image/image-message.js';
import type { IndexedImage } from '../../src/image/image-index.js';

const shown = (User: string) => imageMessage({ id: 'sha256:1', repoTags: [], repoDigests: [], size: 1n, pinned: false, config: { config: { User } } } as unknown as IndexedImage);

test('an image\'s user: a number, a name, or a number that CRI cannot hold, which hurts no list', (t) => {
  t.match(shown('1000:5'), { uid: { value: 1000n }, username: '' });
  t.match(shown('0'), { uid: { value: 0n } });
  t.match(shown('app'), { uid: undefined, username: 'app' });
  for (const User of ['9223372036854775808', '18446744073709551616', '9'.repeat(100)]) {
    const image = shown(User);
    // The kubelet lets no name through where a pod must not run as root (CVE-2026-46680).
    t.match(image, { uid: undefined, username: User });
    t.ok(ListImagesResponse.encode({ images: [image] }).finish().length > 0);
  }
  t.end();
});
