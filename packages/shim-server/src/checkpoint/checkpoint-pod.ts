import { readdir, stat, writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { CheckpointPodRequest, CheckpointPodResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition, invalidArgument, notFound } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { RuntimeHandlers } from '../runtime/runtime-handlers.js';
import type { ContainerRecord } from '../state/container-record.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { packArchive } from './archive-file.js';
import { PodEntry, podArchiveName } from './archive-layout.js';
import { CheckpointReadiness } from './checkpoint-readiness.js';
import { ContainerCapture } from './container-capture.js';
import { podDump, podOptions } from './documents.js';
import { refuseOptions } from './options.js';

/**
 * CRI CheckpointPod: one picture of all its running containers, each in an archive as CheckpointContainer writes it, below `output_path`. All are
 * paused before the first is captured and go on before the call answers, whatever the answer is.
 */
@scoped(Lifecycle.ContainerScoped)
export class CheckpointPod {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(CheckpointReadiness) private readonly readiness: CheckpointReadiness,
    @inject(ContainerCapture) private readonly captures: ContainerCapture,
  ) {}

  readonly handle: UnaryCall<CheckpointPodRequest, CheckpointPodResponse> = async (request, { signal, deadline, log }) => {
    const sandbox = this.sandboxes.require(request.podSandboxId);
    if (sandbox.phase !== 'ready') throw failedPrecondition(`sandbox ${sandbox.id} is not running`);
    refuseOptions(request.options);
    const containers = this.selected(sandbox, request.containerIds);
    await requireEmptyDirectory(request.outputPath);
    await this.readiness.require(this.handlers.of(sandbox));
    const archives = new Map(containers.map((container) => [container.id, join(request.outputPath, podArchiveName(nameOf(container)))]));
    const documents = [
      [join(request.outputPath, PodEntry.options), podOptions(containers.map(nameOf))],
      [join(request.outputPath, PodEntry.config), podDump(sandbox.config)],
    ] as const;
    await this.captures.run({
      sandbox,
      containers,
      files: [...archives.values(), ...documents.map(([file]) => file)],
      steps: Steps.of('CheckpointPod', this.failpoints, log),
      deadline,
      signal,
      write: async (directories) => {
        for (const [id, file] of archives) await packArchive(directories.get(id) ?? '', file, signal);
        // What names the archives comes last: a directory without it is no checkpoint.
        for (const [file, text] of [...documents].reverse()) await writeFile(file, text, { flag: 'wx', mode: 0o600, flush: true });
      },
    });
    return {};
  };

  /** All running containers of the pod, no more and no less. */
  private selected(sandbox: SandboxRecord, ids: readonly string[]): ContainerRecord[] {
    const field = 'container_ids';
    if (ids.length === 0) throw invalidArgument(field, 'is empty');
    const containers = ids.map((id) => {
      const container = this.containers.require(id);
      if (container.sandboxId !== sandbox.id) throw invalidArgument(field, `container ${container.id} is not of pod ${sandbox.id}`);
      if (container.phase !== 'running') throw failedPrecondition(`${field}: container ${container.id} is ${container.phase}, not running`);
      return container;
    });
    if (new Set(containers).size < containers.length) throw invalidArgument(field, 'names a container twice');
    if (new Set(containers.map(nameOf)).size < containers.length) {
      throw failedPrecondition(`${field}: two containers have the same name, by which a restore would tell them apart`);
    }
    return containers;
  }
}

function nameOf({ config }: ContainerRecord): string {
  return config.metadata?.name ?? '';
}

async function requireEmptyDirectory(path: string): Promise<void> {
  const field = 'output_path';
  if (!isAbsolute(path)) throw invalidArgument(field, `${JSON.stringify(path)} is no absolute path`);
  const entry = await stat(path).catch(() => undefined);
  if (entry === undefined) throw notFound('output_path', path);
  if (!entry.isDirectory()) throw invalidArgument(field, `${path} is no directory`);
  if ((await readdir(path)).length > 0) throw failedPrecondition(`${field}: ${path} is not empty`);
}
