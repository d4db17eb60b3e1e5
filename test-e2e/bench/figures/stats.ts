import { setTimeout as pause } from 'node:timers/promises';
import {
  ListContainerStatsRequest,
  ListContainerStatsResponse,
  ListPodSandboxStatsRequest,
  ListPodSandboxStatsResponse,
  RuntimeServiceService,
} from '@criquet/cri-api';
import type { RawRequest } from '../caller/raw-client.js';
import { atMost, type Figure } from '../figure.js';
import type { Side } from '../side.js';

/** criquet reads a cgroup again when what it has is a second old, so that several who ask at once get one reading. */
const SINCE_LAST_MS = 1_100;

const CALLS = {
  'list-container-stats': {
    path: RuntimeServiceService.listContainerStats.path,
    message: ListContainerStatsRequest.encode(ListContainerStatsRequest.fromPartial({})).finish(),
    count: (reply: Buffer) => ListContainerStatsResponse.decode(reply).stats.length,
  },
  'list-pod-sandbox-stats': {
    path: RuntimeServiceService.listPodSandboxStats.path,
    message: ListPodSandboxStatsRequest.encode(ListPodSandboxStatsRequest.fromPartial({})).finish(),
    count: (reply: Buffer) => ListPodSandboxStatsResponse.decode(reply).stats.length,
  },
} satisfies Record<string, RawRequest & { count: (reply: Buffer) => number }>;

export const stats: Figure = {
  name: 'stats',
  title: 'ListContainerStats and ListPodSandboxStats',
  about: `How long one call takes with 50 pods of one running container each, none of whose numbers was asked for in the last 1.1 seconds: a runtime may keep what it read for a second, and
the kubelet asks every ten. Replies are counted once and not decoded while they are timed.`,
  measures: [
    { name: 'list-container-stats', title: 'ListContainerStats with 50 pods', unit: 'ms', better: 'less', target: atMost(0.5) },
    { name: 'list-pod-sandbox-stats', title: 'ListPodSandboxStats with 50 pods', unit: 'ms', better: 'less', target: atMost(0.5) },
  ],
  stages: [
    {
      scene: 50,
      rounds: 20,
      warmUps: 2,
      begin: async (side, scale) => {
        const idle = scale.pick(SINCE_LAST_MS, 100);
        for (const [name, { count, ...request }] of Object.entries(CALLS)) {
          const counted = count(await side.call(request));
          if (counted < scale.standing(50)) throw new Error(`${name}: ${counted} entries`);
        }
        let last = performance.now();
        return {
          async sample() {
            const took: Record<string, number> = {};
            for (const [name, request] of Object.entries(CALLS)) {
              await pause(Math.max(0, last + idle - performance.now()));
              took[name] = await timed(side, request);
              last = performance.now();
            }
            return took;
          },
        };
      },
    },
  ],
};

async function timed(side: Side, request: RawRequest): Promise<number> {
  const began = performance.now();
  await side.call(request);
  return performance.now() - began;
}
