/** OCI runtime specs from CRI configurations. */
export type {
  ContainerSpecInput,
  PodFiles,
  PreparedMounts,
  ResolvedDevices,
  ResolvedUser,
  SandboxSpecInput,
} from './inputs.js';
export { readNodeFacts, type NodeFacts, type NodeFactsOptions } from './node-facts.js';
