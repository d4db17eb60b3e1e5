import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import type { CheckpointContainerRequest, CheckpointContainerResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { RuntimeHandlers } from '../runtime/runtime-handlers.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { packArchive } from './archive-file.js';
import { CheckpointReadiness } from './checkpoint-readiness.js';
import { ContainerCapture, putInPlace } from './container-capture.js';

/** The largest delay of a Node timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * CRI CheckpointContainer: the container's processes and what it changed in its root file system, in one archive at `location`; the container
 * goes on. The archive has mode 0600 and appears when it is whole.
 */
@scoped(Lifecycle.ContainerScoped)
export class CheckpointContainer {
  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(CheckpointReadiness) private readonly readiness: CheckpointReadiness,
    @inject(ContainerCapture) private readonly captures: ContainerCapture,
  ) {}

  readonly handle: UnaryCall<CheckpointContainerRequest, CheckpointContainerResponse> = async (request, context) => {
    const container = this.containers.require(request.containerId);
    const location = await checkedLocation(request.location);
    const limitMs = this.limit(request.timeout);
    const sandbox = this.sandboxes.require(container.sandboxId);
    if (container.phase !== 'running') {
      throw failedPrecondition(`container ${container.id} is ${container.phase}; only a running one can be checkpointed`);
    }
    await this.readiness.require(this.handlers.of(sandbox));
    const partial = join(dirname(location), `.${basename(location)}.${randomBytes(4).toString('hex')}`);
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(limitMs)]);
    const steps = Steps.of('CheckpointContainer', this.failpoints, context.log);
    await this.captures.run({
      sandbox,
      containers: [container],
      files: [partial],
      steps,
      deadline: Math.min(context.deadline, performance.now() + limitMs),
      signal,
      write: async (directories) => {
        await packArchive(directories.get(container.id) ?? '', partial, signal);
        await steps.do('put the archive in place', () => putInPlace(partial, location));
      },
    });
    return {};
  };

  private limit(seconds: bigint): number {
    if (seconds < 0n) throw invalidArgument('timeout', `${seconds} is negative`);
    return seconds === 0n ? this.config.checkpoint.timeout : Math.min(Number(seconds) * 1000, MAX_TIMER_MS);
  }
}

/** An absolute path of a file, in a directory that exists. */
async function checkedLocation(location: string): Promise<string> {
  if (location === '') throw invalidArgument('location', 'is empty');
  if (!isAbsolute(location) || location.includes('\0')) throw invalidArgument('location', `${JSON.stringify(location)} is no absolute path`);
  if (location.endsWith('/')) throw invalidArgument('location', `${JSON.stringify(location)} names a directory`);
  const path = normalize(location);
  const directory = await stat(dirname(path)).catch(() => undefined);
  if (directory?.isDirectory() !== true) throw invalidArgument('location', `${dirname(path)} is no directory`);
  const there = await stat(path).catch(() => undefined);
  if (there !== undefined && !there.isFile()) throw invalidArgument('location', `${path} exists and is no regular file`);
  return path;
}
