import { BUSYBOX, pod, shell, STAY } from './manifest.js';
import type { Topic } from './side-by-side.js';

/** The files of an image as a volume, whole and a directory of it. */
export const imageVolumes: Topic = async (t, side) => {
  await side.apply(
    pod('image-volume', {
      containers: [
        shell('main', `ls /image/bin/busybox /part/passwd; touch /image/x 2>/dev/null || echo read-only; ${STAY}`, {
          volumeMounts: [
            { name: 'image', mountPath: '/image' },
            { name: 'image', mountPath: '/part', subPath: 'etc' },
          ],
        }),
      ],
      volumes: [{ name: 'image', image: { reference: BUSYBOX, pullPolicy: 'IfNotPresent' } }],
    }),
  );
  const ready = await side.ready('image-volume');
  t.same(await side.lines('image-volume', 'main', 3), ['/image/bin/busybox', '/part/passwd', 'read-only']);
  side.tell('pods/image-volume', ready.status);
};
