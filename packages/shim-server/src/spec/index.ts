/** OCI runtime specs from CRI configurations. */
export type {
  ContainerSpecInput,
  PodFiles,
  PreparedMounts,
  ResolvedDevices,
  ResolvedUser,
  SandboxSpecInput,
} from './inputs.js';

/** Once at start. */
export { readNodeFacts, type NodeFacts, type NodeFactsOptions } from './node-facts.js';
export { nodePolicy, type NodePolicy } from './node-policy.js';
export { SourceProbe, type ProbedSource, type SourceProbeOptions } from './source-probe.js';

/** Before the spec: what has to be looked up on the node or in the root file system. */
export { checkImageIdMappings } from './mount-id-mappings.js';
export { isImageMount, prepareMounts, type PrepareMountsOptions } from './mounts.js';
export { deviceOwner, resolveDevices } from './devices.js';
export { ROOT_USER, resolveUser, sandboxUser, userNeedsRootfs, userRequest, type UserRequest } from './resolve-user.js';
export { resolveSeccomp, type SeccompRequest } from './seccomp.js';

/** The specs. */
export { needsLevel } from './selinux.js';
export type { SelinuxContexts } from './selinux-contexts.js';
export { passthroughAnnotations } from './passthrough-annotations.js';
export { buildContainerSpec } from './container-spec.js';
export { buildSandboxSpec } from './sandbox-spec.js';

/** Parts that other calls share. */
export { ANNOTATIONS } from './annotations.js';
export { cgroupOwner, cgroupPath } from './cgroup-path.js';
export { cgroupDirectory } from './cgroup-directory.js';
export { mountOf, readMountInfo, type MountInfo } from './mount-info.js';
export { hasHostIpc, hasHostNetwork } from './namespaces.js';
export { idMappings, onNode, podUserNamespace, type PodUserNamespace } from './user-namespace.js';
export { mergeResources } from './merge-resources.js';
export { buildResources, type ResourceFacts } from './resources.js';
