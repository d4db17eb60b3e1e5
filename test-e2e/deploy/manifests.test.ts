/* The manifests of deploy/, validated by a real API server, in a network namespace of the suite's own. */
import { inOwnNetwork } from '../harness/own-network.js';

await inOwnNetwork(import.meta.url, () => import('./manifests.js'));
