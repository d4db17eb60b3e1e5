import type { Mount } from '@criquet/cri-api';
import type { Container, Manifest } from '../manifest/pod.js';
import { latestContainer, type ContainerRecord, type PodRecord, type SandboxRecord } from '../status/pod-record.js';
import { containerConfig } from '../translate/container-config.js';
import { containerEnvironment, type Environment } from '../translate/environment.js';
import { containerHash } from '../translate/pod-hash.js';
import { sandboxConfig, type TranslationOptions } from '../translate/sandbox-config.js';
import { containerMounts } from '../volumes/container-mounts.js';
import type { Mounter } from '../volumes/mount-command.js';
import type { PodDirectory } from '../volumes/pod-directory.js';
import type { VolumePaths } from '../volumes/prepare-volumes.js';
import type { BackOff } from './back-off.js';
import type { CriCalls } from './cri-calls.js';
import { ensureImage, NeverPullError, type PresentImage } from './ensure-image.js';
import { HookError, runHook } from './hooks.js';
import { killContainer } from './kill-container.js';
import { SyncError, type FailureReason, type Waiting } from './sync-result.js';

/** What starting containers of one pod takes. */
export interface StartContext {
  readonly manifest: Manifest;
  readonly record: PodRecord;
  readonly sandbox: Pick<SandboxRecord, 'id' | 'attempt' | 'ips'>;
  readonly directory: PodDirectory;
  readonly volumes: VolumePaths;
  readonly options: TranslationOptions;
  readonly mounter: Mounter;
  readonly crashes: BackOff;
  readonly pulls: BackOff;
}

/** The kubelet lets a postStart hook run as long as it wants; here it ends with the call deadline. */
const POST_START_LIMIT_MS = 110_000;

/**
 * Pulls, creates and starts one container.
 *
 * @returns why the container has to wait; undefined when it runs.
 * @throws SyncError with the step that failed.
 */
export async function startContainer(container: Container, context: StartContext, calls: CriCalls): Promise<Waiting | undefined> {
  const last = latestContainer(context.record, container.name);
  const crashing = waitAfterCrash(container, last, context);
  if (crashing !== undefined) return crashing;
  const image = await pull(container, context, calls);
  if ('retryInMs' in image) return image;

  const step = stepper(container, calls);
  const { manifest, options, sandbox } = context;
  const config = await step('CreateContainerConfigError', async () => {
    const environment = containerEnvironment(manifest, container, sandbox.ips, options.node);
    return containerConfig(
      manifest,
      container,
      {
        restartCount: last === undefined ? 0 : last.restartCount + 1,
        imageRef: image.ref,
        imageUser: image.user,
        environment,
        mounts: await mountsOf(container, environment, context, calls),
        targetId: targetOf(container, context.record),
      },
      options,
    );
  });
  const { containerId } = await step('CreateContainerError', () =>
    calls.runtime('createContainer', container.name, {
      podSandboxId: sandbox.id,
      config,
      sandboxConfig: sandboxConfig(manifest.pod, sandbox.attempt, options),
    }),
  );
  await step('RunContainerError', () => calls.runtime('startContainer', container.name, { containerId }));
  await runPostStart(container, containerId, config.annotations, calls);
  return undefined;
}

function waitAfterCrash(container: Container, last: ContainerRecord | undefined, context: StartContext): Waiting | undefined {
  if (last?.state !== 'exited') return undefined;
  // A changed definition is a new beginning.
  const key = `${container.name}/${containerHash(container)}`;
  const failedAt = Number(last.finishedAt / 1_000_000n);
  const retryInMs = context.crashes.remaining(key, failedAt);
  if (retryInMs > 0) return { container: container.name, reason: 'CrashLoopBackOff', retryInMs };
  context.crashes.next(key, failedAt);
  return undefined;
}

async function pull(container: Container, context: StartContext, calls: CriCalls): Promise<PresentImage | Waiting> {
  const { pulls, manifest, sandbox, options } = context;
  const failedAt = pulls.lastFailure(container.image);
  const retryInMs = failedAt === undefined ? 0 : pulls.remaining(container.image, failedAt);
  if (retryInMs > 0) return { container: container.name, reason: 'ImagePullBackOff', retryInMs };
  try {
    const image = await ensureImage(manifest, container, sandbox.attempt, options, calls);
    pulls.reset(container.image);
    return image;
  } catch (error) {
    calls.signal?.throwIfAborted();
    if (error instanceof NeverPullError) throw new SyncError('ErrImageNeverPull', container.name, error);
    pulls.fail(container.image);
    throw new SyncError('ErrImagePull', container.name, asError(error));
  }
}

function mountsOf(container: Container, environment: Environment, context: StartContext, calls: CriCalls): Promise<Mount[]> {
  const { manifest, directory, volumes, mounter } = context;
  return containerMounts(manifest.pod, container, { directory, volumes, environment, mounter }, calls.signal);
}

function targetOf(container: Container, record: PodRecord): string | undefined {
  const { targetContainerName } = container;
  return targetContainerName === undefined ? undefined : latestContainer(record, targetContainerName)?.id;
}

async function runPostStart(
  container: Container,
  id: string,
  annotations: Readonly<Record<string, string>>,
  calls: CriCalls,
): Promise<void> {
  const hook = container.lifecycle.postStart;
  if (hook === undefined) return;
  try {
    await runHook(hook, { id, name: container.name }, calls, POST_START_LIMIT_MS);
  } catch (error) {
    calls.signal?.throwIfAborted();
    // A container whose postStart hook failed does not go on (the kubelet kills it too).
    const record = { id, name: container.name, annotations, state: 'running' } as const;
    await killContainer(record, calls);
    throw new SyncError('PostStartHookError', container.name, error instanceof HookError ? error : asError(error));
  }
}

/** Gives what fails in a step the step's name; a cancelled sync stays a cancellation. */
function stepper(container: Container, calls: CriCalls) {
  return async <T>(reason: FailureReason, action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (error) {
      calls.signal?.throwIfAborted();
      throw new SyncError(reason, container.name, asError(error));
    }
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
