// Runtime: operations on attachments
export { Cni, type CniOptions, type ValidAttachment } from './runtime/cni.js';
export { DEFAULT_OPERATION_TIMEOUT_MS, type OperationOptions } from './runtime/operation.js';
export { CniError, CniErrorCode, type CniCommand, type CniErrorFields, type CniFailure } from './cni-error.js';
export type { CachedAttachment } from './cache/cached-attachment.js';

// Attachments and their arguments
export type { Attachment } from './attachment/attachment.js';
export { kubernetesCniArgs, type KubernetesPod } from './attachment/cni-args.js';
export { POD_ANNOTATIONS_CAPABILITY, capabilityArgs, type CapabilityInput, type DnsInput } from './attachment/capability-args.js';
export type { PortMappingInput } from './attachment/port-mappings.js';

// Configuration
export type { JsonObject } from './json/object-reader.js';
export { CniConfigError, type NetworkConfig, type NetworkConfigList } from './config/network-config.js';
export { parseConfig, parseConfigList } from './config/parse-config-list.js';
export { loadConfigLists, loadFirst } from './config/load-config-lists.js';
export { ConfigDirectory, type ConfigDirectoryOptions, type ConfigState } from './config/config-directory.js';
export { confTemplateValues, renderConfTemplate, writeConfList, type ConfTemplateValues } from './config/conf-template.js';

// Results
export type { CniResult, ResultDns, ResultInterface, ResultIp, ResultRoute } from './result/cni-result.js';
export { podIps, type IpPreference } from './result/pod-ips.js';

// Plugin execution
export {
  PluginRunError,
  type PluginExit,
  type PluginRequest,
  type PluginRunFailure,
  type PluginRunner,
} from './plugin/plugin-runner.js';
export { ProcessPluginRunner } from './plugin/process-plugin-runner.js';
export type { PluginProcessLimits } from './plugin/plugin-process.js';
export { pickPluginEnvironment } from './plugin/plugin-environment.js';
export { endLeftoverPlugins, type LeftoverPluginsOptions } from './plugin/leftover-plugins.js';

// Network namespaces
export {
  NetnsError,
  type CreateNetnsOptions,
  type IdMapping,
  type NetnsConnection,
  type NetnsProvider,
  type NetnsUserns,
} from './netns/netns-provider.js';
export { NetnsThread, type NetnsThreadOptions } from './netns/netns-thread.js';

// Versions of the CNI specification
export { CURRENT_CNI_VERSION, SUPPORTED_CNI_VERSIONS, isAtLeast, isCniVersion, type CniVersion } from './version.js';
