import type { TestNode } from '../../harness/node.js';
import { CALL } from '../../harness/pods.js';
import { placesOf } from '../places.js';
import type { Scenario } from '../scenario.js';

/** Small, and used for nothing else. */
const IMAGE = 'registry.k8s.io/criquet-e2e/single-layer:1';

/** A runtime handler whose snapshotter containerd's transfer service does not unpack for. */
export const NATIVE_HANDLER = 'native';

async function remove(node: TestNode): Promise<void> {
  const { image } = node.cri;
  const { image: there } = await image.imageStatus({ image: { image: IMAGE } }, CALL);
  if (there !== undefined) await image.removeImage({ image: { image: there.id } }, CALL);
}

export const imageScenarios: readonly Scenario[] = [
  {
    name: 'PullImage',
    places: [...placesOf('PullImage', 'steps'), ...placesOf('PullImage', 'undo')],
    provides: ['a snapshotter of its own'],
    async prepare(node, count) {
      await remove(node);
      const pull = () => node.cri.image.pullImage({ image: { image: IMAGE, runtimeHandler: NATIVE_HANDLER } }, CALL);
      return {
        calls: Array.from({ length: count }, () => ({ call: pull, again: pull })),
        end: () => remove(node),
      };
    },
  },
];
