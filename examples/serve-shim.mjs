// A shim of your own: criquet's CRI server inside this program.
//
//   node examples/serve-shim.mjs [CONTAINERD_SOCKET] [DIRECTORY]
//
// Serves unix://DIRECTORY/cri.sock (default /tmp/my-shim) until Ctrl-C. Needs root, and a built checkout (pnpm build).
import { createRequire } from 'node:module';
import { defaultConfig, startShimServer } from '../packages/shim-server/dist/src/index.js';

const { pino } = createRequire(new URL('../packages/shim-server/package.json', import.meta.url))('pino');
const [containerd = '/run/containerd/containerd.sock', directory = '/tmp/my-shim'] = process.argv.slice(2);

const config = defaultConfig();
const server = await startShimServer({
  config: {
    ...config,
    listen: `unix://${directory}/cri.sock`,
    stateDir: `${directory}/state`,
    rootDir: `${directory}/root`,
    containerd: { ...config.containerd, address: `unix://${containerd}` },
    cni: { ...config.cni, cacheDir: `${directory}/cni`, netnsDir: `${directory}/state/netns` },
  },
  logger: pino(),
});
console.log(`crictl --runtime-endpoint unix://${directory}/cri.sock pods`);

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void server.stop());
