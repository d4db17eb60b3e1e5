// A shim of your own: criquet's CRI server inside this program.
//
//   node examples/serve-shim.mjs [CONTAINERD_SOCKET] [DIRECTORY]
//
// Serves unix://DIRECTORY/cri.sock (default /tmp/my-shim) until Ctrl-C. Needs root, and a build (`pnpm build`).
// In a project of your own, import '@criquet/shim-server' and 'pino' instead of using load() and createRequire().
import { createRequire } from 'node:module';
import { load } from './load.mjs';

const { defaultConfig, startShimServer } = await load('shim-server');

const { pino } = createRequire(new URL('../packages/shim-server/package.json', import.meta.url))('pino');
const [containerd = '/run/containerd/containerd.sock', directory = '/tmp/my-shim'] = process.argv.slice(2);

const config = defaultConfig();
const starting = startShimServer({
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
const server = await starting.catch((error) => {
  console.error(error.message);
  process.exit(1);
});
console.log(`crictl --runtime-endpoint unix://${directory}/cri.sock pods`);

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void server.stop());
