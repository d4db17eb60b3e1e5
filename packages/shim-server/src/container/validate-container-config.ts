import type { ContainerConfig, ContainerMetadata, CreateContainerRequest, ImageSpec } from '@criquet/cri-api';
import { invalidArgument } from '../errors.js';

/** Checks what every later step relies on. @throws INVALID_ARGUMENT naming the field */
export function validateContainerConfig(request: CreateContainerRequest): {
  config: ContainerConfig;
  metadata: ContainerMetadata;
  image: ImageSpec;
} {
  const { config } = request;
  if (config === undefined) throw invalidArgument('config', 'is missing');
  const { metadata, image } = config;
  if (metadata === undefined) throw invalidArgument('config.metadata', 'is missing');
  if (metadata.name === '') throw invalidArgument('config.metadata.name', 'is empty');
  if (/[/\0]/.test(metadata.name)) throw invalidArgument('config.metadata.name', 'contains "/" or NUL');
  if (image === undefined || image.image === '') throw invalidArgument('config.image.image', 'is empty');
  return { config, metadata, image };
}
