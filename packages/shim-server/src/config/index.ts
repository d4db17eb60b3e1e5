/** The daemon's configuration: its schema, how it is loaded and how it is written out. */
export { LOG_LEVELS, type ConfigFile, type CriquetConfig, type LogLevel, type RuntimeHandlerConfig } from './schema.js';
export {
  DEFAULT_CONFIG_PATH,
  defaultConfig,
  loadConfig,
  type ConfigOverride,
  type LoadConfigOptions,
  type LoadedConfig,
} from './load-config.js';
export { ConfigError, type ConfigProblem } from './config-error.js';
export { describeConfig, type ConfigKey, type ConfigTable } from './describe.js';
export { renderConfig, renderDefaultConfig } from './render-toml.js';
