import { atMost, type Figure } from '../figure.js';
import { CALL } from '../../harness/pods.js';

export const execSync: Figure = {
  name: 'exec-sync',
  title: 'ExecSync',
  about: `ExecSync of \`true\` in a running container, one call after the other.`,
  measures: [{ name: 'exec-sync', title: 'ExecSync `true`', unit: 'ms', better: 'less', target: atMost(1) }],
  stages: [
    {
      scene: 5,
      rounds: 100,
      warmUps: 100,
      begin: async (side) => {
        const containerId = side.standingContainer();
        return {
          async sample() {
            const began = performance.now();
            const { exitCode } = await side.node.cri.runtime.execSync({ containerId, cmd: ['true'], timeout: 10n }, CALL);
            const took = performance.now() - began;
            if (exitCode !== 0) throw new Error(`true: exit code ${exitCode}`);
            return { 'exec-sync': took };
          },
        };
      },
    },
  ],
};
