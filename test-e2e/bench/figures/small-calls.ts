import { ContainerStatusRequest, RuntimeServiceService, VersionRequest } from '@criquet/cri-api';
import type { Figure } from '../figure.js';
import { rateMeasures, sampleRates } from './call-rates.js';

const TARGETS = { 1: 0.8, 8: 0.8 };

export const smallCalls: Figure = {
  name: 'small-calls',
  title: 'Version and ContainerStatus',
  about: `Calls a second, made as fast as they are answered for a second, by one caller and by eight, which share a connection as the kubelet's do. The client is a process of its own that
sends bytes encoded before and decodes no reply. ContainerStatus is that of a running container.`,
  measures: [...rateMeasures('version', 'Version, calls a second', TARGETS), ...rateMeasures('container-status', 'ContainerStatus, calls a second', TARGETS)],
  stages: [
    {
      scene: 5,
      rounds: 10,
      warmUps: 2,
      begin: async (side, scale) => {
        const version = { path: RuntimeServiceService.version.path, message: VersionRequest.encode({ version: '' }).finish() };
        const status = {
          path: RuntimeServiceService.containerStatus.path,
          message: ContainerStatusRequest.encode({ containerId: side.standingContainer(), verbose: false }).finish(),
        };
        return {
          sample: async () => ({
            ...(await sampleRates(side, scale, 'version', version)),
            ...(await sampleRates(side, scale, 'container-status', status)),
          }),
        };
      },
    },
  ],
};
