import { readlink } from 'node:fs/promises';
import { NamespaceMode, type ContainerConfig } from '@criquet/cri-api';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { Containers } from '../tokens.js';

const FIELD = 'config.linux.security_context.namespace_options.target_id';

/**
 * With PID namespace mode TARGET: the process whose PID namespace a container of the pod `sandboxId` joins; undefined with any other.
 *
 * @throws INVALID_ARGUMENT for a target that is no container of the same pod; FAILED_PRECONDITION for one that does not run.
 */
export async function pidTarget(containers: Containers, sandboxId: string, config: ContainerConfig): Promise<number | undefined> {
  const options = config.linux?.securityContext?.namespaceOptions;
  if (options?.pid !== NamespaceMode.TARGET) return undefined;
  const target = containers.find(options.targetId);
  if (target === undefined || target.sandboxId !== sandboxId) {
    throw invalidArgument(FIELD, `${JSON.stringify(options.targetId)} is no container of the same pod`);
  }
  if (target.phase !== 'running') throw failedPrecondition(`${FIELD}: container ${target.id} does not run`);
  await readlink(`/proc/${target.pid}/ns/pid`).catch((error: unknown) => {
    throw failedPrecondition(`${FIELD}: container ${target.id} does not run: ${(error as Error).message}`);
  });
  return target.pid;
}
