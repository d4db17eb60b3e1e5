import { setTimeout as pause } from 'node:timers/promises';
import { BENCH_IMAGE } from '../../images/bench-images.js';
import { CALL } from '../../harness/pods.js';
import { atMost, type Figure } from '../figure.js';
import type { Scale } from '../scale.js';
import type { Side } from '../side.js';

/** What a smoke run pulls: an image of the suites, so that none is made for it. */
const SMALL_IMAGE = 'e2e.criquet.test/criquet-e2e/volumes:1';

export const pullImage: Figure = {
  name: 'pull-image',
  title: 'PullImage',
  about: `PullImage of an image of 130 MB in four layers that cannot be compressed, from a registry on loopback, unpacking included. Before each round the image is removed and containerd's
garbage collected, until neither its content nor its snapshots are there.`,
  measures: [{ name: 'pull-image', title: 'PullImage, 130 MB in 4 layers', unit: 'ms', better: 'less', target: atMost(1) }],
  stages: [
    {
      scene: 5,
      rounds: 10,
      warmUps: 1,
      begin: async (side, scale) => {
        const image = { image: nameOf(scale) };
        const before = await held(side);
        const forget = async () => {
          await side.node.cri.image.removeImage({ image }, CALL);
          await collectGarbage(side, before);
        };
        return {
          async sample() {
            const began = performance.now();
            await side.node.cri.image.pullImage({ image }, CALL);
            const took = performance.now() - began;
            await forget();
            return { 'pull-image': took };
          },
        };
      },
    },
  ],
};

function nameOf(scale: Scale): string {
  return scale.smoke ? SMALL_IMAGE : BENCH_IMAGE;
}

/** How many blobs and snapshots of images containerd has. */
async function held({ node }: Side): Promise<string> {
  const count = async (...args: string[]) => (await node.containerd.ctr('--namespace', 'k8s.io', ...args)).split('\n').filter((line) => line !== '').length;
  return `${await count('content', 'ls', '--quiet')} blobs, ${(await count('snapshots', 'ls')) - 1} snapshots`;
}

/** Deleting a lease and waiting for it is how a client asks containerd to collect. */
async function collectGarbage(side: Side, until: string): Promise<void> {
  const { containerd } = side.node;
  const end = performance.now() + CALL.timeoutMs;
  for (;;) {
    const lease = (await containerd.ctr('--namespace', 'k8s.io', 'leases', 'create')).trim();
    await containerd.ctr('--namespace', 'k8s.io', 'leases', 'delete', '--sync', lease);
    const now = await held(side);
    if (now === until) return;
    if (performance.now() > end) throw new Error(`${side.runtime}: ${now} are there, not ${until}`);
    await pause(100);
  }
}
