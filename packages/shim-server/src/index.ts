import 'reflect-metadata';

// The daemon
export { startShimServer, type ShimServer, type ShimServerOptions } from './start-shim-server.js';
export { CRIQUET_VERSION } from './runtime/version.js';

// What of it is on a node
export { auditNode, HOLDING_KINDS, type AuditedHolding, type AuditNodeOptions, type AuditProblem, type HoldingKind, type HoldingState, type NodeAudit } from './audit/index.js';

// Its configuration
export { checkConfig } from './check-config.js';
export {
  ConfigError,
  DEFAULT_CONFIG_PATH,
  defaultConfig,
  describeConfig,
  loadConfig,
  LOG_LEVELS,
  renderConfig,
  renderDefaultConfig,
  type ConfigFile,
  type ConfigKey,
  type ConfigOverride,
  type ConfigProblem,
  type ConfigTable,
  type CriquetConfig,
  type LoadConfigOptions,
  type LoadedConfig,
  type LogLevel,
  type RuntimeHandlerConfig,
} from './config/index.js';
