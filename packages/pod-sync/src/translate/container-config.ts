import { ContainerConfig, Signal, type Mount } from '@criquet/cri-api';
import type { Container, Manifest } from '../manifest/pod.js';
import type { Environment } from './environment.js';
import { expand } from './expand.js';
import { containerAnnotations, containerLabels } from './labels.js';
import { containerResources } from './resources.js';
import type { TranslationOptions } from './sandbox-config.js';
import { containerSecurityContext, type ImageUser } from './security-context.js';

/** What is known of a container only when it is about to be created. */
export interface ContainerFacts {
  /** How often the container was started before. */
  readonly restartCount: number;
  /** The image as the runtime knows it, PullImage's or ImageStatus's answer. */
  readonly imageRef: string;
  readonly imageUser: ImageUser;
  readonly environment: Environment;
  readonly mounts: readonly Mount[];
  /** Id of the container whose process namespace an ephemeral container joins. */
  readonly targetId: string | undefined;
}

/** The log of a container below its pod's log directory: `web/0.log`. */
export function containerLogPath(name: string, restartCount: number): string {
  return `${name}/${restartCount}.log`;
}

/** The request of CreateContainer. @throws NonRootError when the user that the container would run as is not allowed. */
export function containerConfig(
  manifest: Manifest,
  container: Container,
  facts: ContainerFacts,
  options: TranslationOptions,
): ContainerConfig {
  const { pod } = manifest;
  const { environment } = facts;
  const expandAll = (words: readonly string[]) => words.map((word) => expand(word, environment));
  return ContainerConfig.fromPartial({
    metadata: { name: container.name, attempt: facts.restartCount },
    image: { image: facts.imageRef, userSpecifiedImage: container.image, runtimeHandler: pod.spec.runtimeClassName ?? '' },
    command: expandAll(container.command),
    args: expandAll(container.args),
    workingDir: container.workingDir,
    envs: [...environment].map(([key, value]) => ({ key, value: Buffer.from(value) })),
    mounts: [...facts.mounts],
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, facts.restartCount),
    logPath: containerLogPath(container.name, facts.restartCount),
    stdin: container.stdin,
    stdinOnce: container.stdinOnce,
    tty: container.tty,
    stopSignal: signalNumber(container.lifecycle.stopSignal),
    linux: {
      resources: containerResources(pod, container, options.node),
      securityContext: containerSecurityContext(pod, container, facts.imageUser, {
        seccompRoot: options.seccompRoot,
        targetId: facts.targetId,
      }),
    },
  });
}

/** CRI's number of a signal by Kubernetes' name; `SIGRTMIN+3` is SIGRTMINPLUS3 there. */
function signalNumber(name: string | undefined): Signal {
  const key = (name ?? 'RUNTIME_DEFAULT').replace('+', 'PLUS').replace('-', 'MINUS');
  return (Signal as unknown as Readonly<Record<string, Signal | undefined>>)[key] ?? Signal.RUNTIME_DEFAULT;
}
