import { pod, shell, STAY } from './manifest.js';
import { containerOf } from './pod-status.js';
import type { Topic } from './side-by-side.js';

/**
 * In-place resize. The API server's subresource is not there; a static pod whose manifest names its UID stays the same pod when the manifest
 * changes, and its kubelet then updates the container.
 */
export const resize: Topic = async (t, side) => {
  const resizable = (cpu: string, memory: string) =>
    pod(
      'resize',
      {
        containers: [
          shell('main', STAY, {
            resources: { requests: { cpu, memory }, limits: { cpu, memory } },
            resizePolicy: [
              { resourceName: 'cpu', restartPolicy: 'NotRequired' },
              { resourceName: 'memory', restartPolicy: 'NotRequired' },
            ],
          }),
        ],
      },
      { uid: 'a1b2c3d4-0000-4000-8000-00000000000e' },
    );
  await side.apply(resizable('100m', '32Mi'));
  const before = await side.ready('resize');
  await side.apply(resizable('200m', '48Mi'));
  const after = await side.until('resize', (pod) => JSON.stringify(containerOf(pod, 'main').resources).includes('48Mi'));
  t.match(containerOf(after, 'main').resources, { limits: { cpu: '200m', memory: '48Mi' } });
  t.equal(containerOf(after, 'main').containerID, containerOf(before, 'main').containerID, 'the same container goes on');
  t.equal(containerOf(after, 'main').restartCount, 0);
  side.tell('pods/resize', after.status);
};
