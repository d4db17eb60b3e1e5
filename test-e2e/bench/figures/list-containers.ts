import { ListContainersRequest, RuntimeServiceService } from '@criquet/cri-api';
import { CALL } from '../../harness/pods.js';
import type { Figure } from '../figure.js';
import { inBatches } from '../in-batches.js';
import { Pod } from '../pod.js';
import { rateMeasures, sampleRates } from './call-rates.js';

const AT_ONCE = 10;

export const listContainers: Figure = {
  name: 'list-containers',
  title: 'ListContainers',
  about: `Calls a second without a filter, made as fast as they are answered for a second, by one caller and by eight. 300 containers are there: a few run, the others, in ten pods, are
created and not started, which a list does not tell apart.`,
  measures: rateMeasures('list-containers', 'ListContainers with 300 containers, calls a second', { 1: 2, 8: 1.5 }),
  stages: [
    {
      scene: 5,
      rounds: 10,
      warmUps: 2,
      begin: async (side, scale) => {
        const listed = async () => (await side.node.cri.runtime.listContainers({}, CALL)).containers.length;
        const count = scale.pick(300, 10);
        const pods: Pod[] = [];
        await inBatches(scale.pick(10, 2), AT_ONCE, async () => {
          pods.push(await Pod.start(side));
        });
        const missing = Math.max(0, count - (await listed()));
        let next = 0;
        await inBatches(missing, AT_ONCE, async () => {
          next += 1;
          await pods[next % pods.length]?.create(`extra-${next}`);
        });
        if ((await listed()) < count) throw new Error(`${await listed()} containers, not ${count}`);
        const request = { path: RuntimeServiceService.listContainers.path, message: ListContainersRequest.encode(ListContainersRequest.fromPartial({})).finish() };
        return {
          sample: () => sampleRates(side, scale, 'list-containers', request),
          end: () => inBatches(pods.length, AT_ONCE, async () => pods.pop()?.remove()),
        };
      },
    },
  ],
};
