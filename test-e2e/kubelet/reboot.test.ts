import { inOwnNetwork } from '../harness/own-network.js';

await inOwnNetwork(import.meta.url, () => import('./reboot.js'));
