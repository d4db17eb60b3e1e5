import type { PodSandboxConfig, PodSandboxMetadata } from '@criquet/cri-api';
import { invalidArgument } from '../errors.js';

/** The longest host name Linux takes (HOST_NAME_MAX). */
const MAX_HOSTNAME_BYTES = 64;

/** Checks what every later step relies on. @throws INVALID_ARGUMENT naming the field */
export function validateSandboxConfig(config: PodSandboxConfig | undefined): {
  config: PodSandboxConfig;
  metadata: PodSandboxMetadata;
} {
  if (config === undefined) throw invalidArgument('config', 'is missing');
  const { metadata } = config;
  if (metadata === undefined) throw invalidArgument('config.metadata', 'is missing');
  for (const field of ['name', 'namespace', 'uid'] as const) {
    if (metadata[field] === '') throw invalidArgument(`config.metadata.${field}`, 'is empty');
    if (/[/\0]/.test(metadata[field])) throw invalidArgument(`config.metadata.${field}`, 'contains "/" or NUL');
  }
  if (Buffer.byteLength(config.hostname) > MAX_HOSTNAME_BYTES) {
    throw invalidArgument('config.hostname', `is longer than ${MAX_HOSTNAME_BYTES} bytes`);
  }
  if (config.logDirectory !== '' && !config.logDirectory.startsWith('/')) {
    throw invalidArgument('config.log_directory', `${JSON.stringify(config.logDirectory)} is not an absolute path`);
  }
  for (const [index, mapping] of config.portMappings.entries()) {
    for (const [field, port] of [['container_port', mapping.containerPort], ['host_port', mapping.hostPort]] as const) {
      if (port < 0 || port > 65535) throw invalidArgument(`config.port_mappings[${index}].${field}`, `${port} is no port`);
    }
  }
  return { config, metadata };
}
