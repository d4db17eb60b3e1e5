import { hooks } from './hooks.js';
import { imageVolumes } from './image-volumes.js';
import { initContainers } from './init-containers.js';
import { networks } from './networks.js';
import { probes } from './probes.js';
import { resize } from './resize.js';
import { resources } from './resources.js';
import { restarts } from './restarts.js';
import { sideBySide } from './side-by-side.js';
import { sidecars } from './sidecars.js';
import { termination } from './termination.js';
import { userNamespaces } from './user-namespaces.js';
import { volumes } from './volumes.js';

await sideBySide(
  {
    'init containers': initContainers,
    sidecars,
    restarts,
    probes,
    hooks,
    termination,
    volumes,
    networks,
    resources,
    resize,
    'user namespaces': userNamespaces,
    'image volumes': imageVolumes,
  },
  {
    known: [
      {
        at: /^pods\/volumes\/mounts \/dev\/shm$/,
        why: "criquet keeps nosuid, nodev and noexec of the pod's shared memory, which a bind mount that names any option loses otherwise",
      },
    ],
    fields: { crashLoopBackOff: { maxContainerRestartPeriod: '2s' }, podPidsLimit: 123, featureGates: { KubeletCrashLoopBackOffMax: true } },
  },
);
