import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { ContainerConfig, RestorePodRequest, RestorePodResponse, RestoredContainer } from '@criquet/cri-api';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { CreateContainer } from '../container/create-container.js';
import { alreadyExists, failedPrecondition, invalidArgument, notFound } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { ignoreNotFound } from '../runtime/already-gone.js';
import { RuntimeHandlers } from '../runtime/runtime-handlers.js';
import { PodRemoval } from '../sandbox/pod-removal.js';
import { RunPodSandbox } from '../sandbox/run-pod-sandbox.js';
import { validateSandboxConfig } from '../sandbox/validate-sandbox-config.js';
import { configDigest } from '../state/config-digest.js';
import { containerName } from '../state/container-record.js';
import { KeyedMutex } from '../state/keyed-mutex.js';
import { sandboxName, type SandboxRecord } from '../state/sandbox-record.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Rollback } from '../steps/rollback.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { PodEntry, podArchiveName } from './archive-layout.js';
import { CheckpointReadiness } from './checkpoint-readiness.js';
import { readPodOptions } from './documents.js';
import { refuseOptions } from './options.js';
import { RestoreSources, type RestoreSource } from './restore-source.js';

const MAX_OPTIONS_BYTES = 1024 * 1024;

/** A container to restore. */
interface Wanted {
  readonly name: string;
  readonly config: ContainerConfig;
  readonly source: RestoreSource;
}

/**
 * CRI RestorePod: a new sandbox, and in it every container of the checkpoint, created and not started: StartContainer then brings its processes
 * back. An error leaves nothing of it. A call that is repeated finds the pod that the first one restored.
 */
@scoped(Lifecycle.ContainerScoped)
export class RestorePod {
  private readonly mutex = new KeyedMutex();

  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(CheckpointReadiness) private readonly readiness: CheckpointReadiness,
    @inject(RestoreSources) private readonly sources: RestoreSources,
    @inject(RunPodSandbox) private readonly runPodSandbox: RunPodSandbox,
    @inject(CreateContainer) private readonly createContainer: CreateContainer,
    @inject(PodRemoval) private readonly removal: PodRemoval,
  ) {}

  readonly handle: UnaryCall<RestorePodRequest, RestorePodResponse> = async (request, { signal, log }) => {
    const { metadata } = validateSandboxConfig(request.config);
    const handler = this.handlers.require(request.runtimeHandler);
    refuseOptions(request.options);
    const configs = namedConfigs(request.containerConfigs);
    await requireCheckpoint(request.checkpointPath, [...configs.keys()]);
    await this.readiness.require(handler);
    const name = sandboxName(metadata);
    return this.mutex.run(name, signal, () => this.restoreOnce(request, name, configs, signal, log));
  };

  private async restoreOnce(
    request: RestorePodRequest,
    name: string,
    configs: ReadonlyMap<string, ContainerConfig>,
    signal: AbortSignal,
    log: Logger,
  ): Promise<RestorePodResponse> {
    const digest = configDigest({ restore: request });
    const existing = this.sandboxes.byName(name);
    if (existing?.phase === 'ready' && existing.restoring !== true) return this.restored(existing, digest, configs);
    const steps = Steps.of('RestorePod', this.failpoints, log);
    const wanted = await steps.do('read the checkpoint', () => this.readCheckpoint(request.checkpointPath, configs));
    const rollback = Rollback.of('RestorePod', this.failpoints, log);
    try {
      const { config, runtimeHandler } = request;
      // Each of these runs to its end or leaves nothing; a caller that went away is noticed in between.
      const patient = new AbortController().signal;
      const marks = { configDigest: digest, restoring: true };
      const id = await steps.do('run the sandbox', () => this.runPodSandbox.obtain({ config, runtimeHandler }, marks, patient, log));
      rollback.add('remove the pod', (undoing) => this.takeBack(id, undoing));
      const restoredContainers = await steps.do('create the containers', async () => {
        const created: RestoredContainer[] = [];
        for (const container of wanted) {
          signal.throwIfAborted();
          const creation = { podSandboxId: id, config: container.config, sandboxConfig: config };
          created.push({ name: container.name, containerId: await this.createContainer.obtain(creation, container.source, patient, log) });
        }
        return created;
      });
      await steps.do('record that it is restored', async () => {
        signal.throwIfAborted();
        // containerd may have it although the answer got lost: it must not be taken for whole while it is being removed.
        rollback.add('record that it is half restored', async () => {
          if (this.sandboxes.get(id) === undefined) return;
          await this.sandboxes.update(id, (record) => ({ ...record, restoring: true })).catch(ignoreNotFound);
        });
        await this.sandboxes.update(id, ({ restoring: _, ...record }) => record);
      });
      return { podSandboxId: id, restoredContainers };
    } catch (error) {
      await rollback.run();
      throw error;
    }
  }

  /** What an earlier call with the same request restored. */
  private restored(sandbox: SandboxRecord, digest: string, configs: ReadonlyMap<string, ContainerConfig>): RestorePodResponse {
    const restoredContainers = [...configs].flatMap(([name, { metadata }]) => {
      const container = metadata === undefined ? undefined : this.containers.byName(containerName(metadata, sandbox.name));
      return container?.sandboxId === sandbox.id ? [{ name, containerId: container.id }] : [];
    });
    if (sandbox.configDigest !== digest || restoredContainers.length < configs.size) {
      throw alreadyExists(`sandbox ${sandbox.name} exists as ${sandbox.id} and is not what this call would restore`);
    }
    return { podSandboxId: sandbox.id, restoredContainers };
  }

  private async readCheckpoint(path: string, configs: ReadonlyMap<string, ContainerConfig>): Promise<Wanted[]> {
    const wanted: Wanted[] = [];
    for (const [name, config] of configs) {
      const source = await this.sources.ofPod(`container_configs[${wanted.length}]`, join(path, podArchiveName(name)), config);
      wanted.push({ name, config, source });
    }
    return wanted;
  }

  private async takeBack(sandboxId: string, signal: AbortSignal): Promise<void> {
    this.sandboxes.note(sandboxId, (record) => ({ ...record, phase: 'failed' }));
    try {
      await this.removal.remove(sandboxId, signal);
    } catch {
      // Its record says that it is being restored, so that a restart of the daemon goes on with it.
      this.removal.owe(sandboxId);
    }
  }
}

/** By name, in the order of the request. */
function namedConfigs(configs: readonly ContainerConfig[]): Map<string, ContainerConfig> {
  const field = 'container_configs';
  if (configs.length === 0) throw invalidArgument(field, 'is empty');
  const named = new Map<string, ContainerConfig>();
  for (const [index, config] of configs.entries()) {
    const name = config.metadata?.name ?? '';
    if (name === '') throw invalidArgument(`${field}[${index}].metadata.name`, 'is empty');
    if (/[/\0]/.test(name)) throw invalidArgument(`${field}[${index}].metadata.name`, 'contains "/" or NUL');
    if (named.has(name)) throw invalidArgument(`${field}[${index}].metadata.name`, `${JSON.stringify(name)} occurs twice`);
    named.set(name, config);
  }
  return named;
}

/** @throws when it is no checkpoint of a pod with exactly these containers */
async function requireCheckpoint(path: string, names: readonly string[]): Promise<void> {
  const field = 'checkpoint_path';
  if (!isAbsolute(path)) throw invalidArgument(field, `${JSON.stringify(path)} is no absolute path`);
  const entry = await stat(path).catch(() => undefined);
  if (entry === undefined) throw notFound(field, path);
  if (!entry.isDirectory()) throw invalidArgument(field, `${path} is no directory`);
  let there: string[];
  try {
    there = readPodOptions(await readPlain(join(path, PodEntry.options)));
  } catch (error) {
    throw failedPrecondition(`${field}: ${path} is no checkpoint of a pod that can be restored here: ${PodEntry.options}: ${(error as Error).message}`);
  }
  if ([...there].sort().join('\0') !== [...names].sort().join('\0')) {
    throw invalidArgument('container_configs', `the checkpoint has the containers ${there.sort().join(', ')}, not ${[...names].sort().join(', ')}`);
  }
}

/** The directory's content is not trusted: no link is followed. */
async function readPlain(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const entry = await handle.stat();
    if (!entry.isFile() || entry.size > MAX_OPTIONS_BYTES) throw new Error('it is no small regular file');
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
