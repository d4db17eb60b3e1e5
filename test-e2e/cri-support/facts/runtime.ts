import { component, honoured, ignored, type MessageFacts } from '../facts.js';

const INSISTED = component('server')('Version, RuntimeConfig and Status say what the kubelet insists on');
const HANDLERS = component('runtime-handlers')(
  'X8 runtime handlers: features are those of the runtime binary and the kernel, the default stands under "" too',
);
const NETWORK = component('network')('N7 a plugin whose STATUS fails or hangs: NetworkReady false with what it said');
const TEMPLATE = component('network')('UpdateRuntimeConfig renders the template for the pod CIDR, and leaves others\' configuration alone');

/** The node and the daemon. */
export const RUNTIME = {
  VersionRequest: { version: ignored('the answer is the same for every kubelet') },
  VersionResponse: {
    version: honoured('0.1.0: the kubelet refuses any other', INSISTED),
    runtime_name: honoured('criquet', INSISTED),
    runtime_version: honoured('the release', INSISTED),
    runtime_api_version: honoured('v1', INSISTED),
  },
  StatusRequest: { verbose: honoured('adds `info`', INSISTED) },
  StatusResponse: {
    status: honoured('see RuntimeStatus', INSISTED),
    info: honoured('JSON of configuration, containerd, networks, streaming and node', INSISTED),
    runtime_handlers: honoured('every handler, the default one under its name and under ""', HANDLERS),
    features: honoured('see RuntimeFeatures', HANDLERS),
  },
  RuntimeStatus: { conditions: honoured('RuntimeReady, NetworkReady, and others while something is wrong', INSISTED) },
  RuntimeCondition: {
    type: honoured('see RuntimeStatus', INSISTED),
    status: honoured('true is well', INSISTED),
    reason: honoured('a word', NETWORK),
    message: honoured('what is wrong', NETWORK),
  },
  RuntimeHandler: {
    name: honoured('as in the configuration', HANDLERS),
    features: honoured('see RuntimeHandlerFeatures', HANDLERS),
  },
  RuntimeHandlerFeatures: {
    recursive_read_only_mounts: honoured('the runtime binary and the kernel have it', HANDLERS),
    user_namespaces: honoured('the runtime binary and the kernel have them, with idmapped mounts', HANDLERS),
  },
  RuntimeFeatures: {
    supplemental_groups_policy: honoured('true', HANDLERS),
    user_namespaces_host_network: honoured('true', component('user-namespaces')("with the node's network the runtime makes the user namespace, and /sys is the node's, read-only")),
    mount_options: honoured('true', HANDLERS),
  },
  RuntimeConfigResponse: { linux: honoured('see LinuxRuntimeConfiguration', component('server')('RuntimeConfig: the cgroup driver is cgroupfs by default')) },
  LinuxRuntimeConfiguration: { cgroup_driver: honoured('of the default handler', component('server')('RuntimeConfig: the cgroup driver is cgroupfs by default')) },
  UpdateRuntimeConfigRequest: { runtime_config: honoured('see RuntimeConfig', TEMPLATE) },
  RuntimeConfig: { network_config: honoured('see NetworkConfig', TEMPLATE) },
  NetworkConfig: { pod_cidr: honoured('rendered into `cni.conf_template`; nothing without one', TEMPLATE) },
} satisfies MessageFacts;
