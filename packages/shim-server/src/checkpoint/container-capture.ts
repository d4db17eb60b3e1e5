import { createWriteStream } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { checkpointOptions, isDeadlineExceeded, mediaTypes, type CallOptions, type Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { ContainerLocks } from '../container/container-locks.js';
import { ContainerStatuses } from '../container/container-statuses.js';
import { failedPrecondition, ShimError } from '../errors.js';
import { toStatus } from '../grpc/status.js';
import { RuntimeHandlers } from '../runtime/runtime-handlers.js';
import { SandboxFiles } from '../sandbox/sandbox-files.js';
import type { ContainerRecord } from '../state/container-record.js';
import type { Layout } from '../state/layout.js';
import { ownedBy } from '../state/owner-labels.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import type { CaptureStep } from '../steps/registry.js';
import type { Steps } from '../steps/steps.js';
import { together } from '../steps/together.js';
import { Token, type Containers } from '../tokens.js';
import { packTree } from './archive-file.js';
import { ArchiveEntry } from './archive-layout.js';
import { CaptureWork } from './capture-work.js';
import { captureDirectory, removeTree } from './checkpoint-directory.js';
import { criuErrors } from './criu-log.js';
import { configDump, containerdStatus, statusDump } from './documents.js';

export interface CaptureRequest {
  readonly sandbox: SandboxRecord;
  readonly containers: readonly ContainerRecord[];
  /** Files outside criquet's directories that `write` makes; removed unless it succeeds. */
  readonly files: readonly string[];
  readonly steps: Steps<CaptureStep>;
  /** Unix milliseconds; Infinity is none. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Writes what the captured containers' directories hold to where it is wanted; they run again meanwhile. */
  readonly write: (directories: ReadonlyMap<string, string>) => Promise<void>;
}

/**
 * One consistent picture of one or several containers: all of them paused, then the processes of each by CRIU and what each changed in its
 * root file system, then all of them go on, whatever happened.
 */
@scoped(Lifecycle.ContainerScoped)
export class ContainerCapture {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(SandboxFiles) private readonly files: SandboxFiles,
    @inject(ContainerStatuses) private readonly statuses: ContainerStatuses,
    @inject(ContainerLocks) private readonly locks: ContainerLocks,
    @inject(CaptureWork) private readonly work: CaptureWork,
  ) {}

  async run(request: CaptureRequest): Promise<void> {
    const ids = request.containers.map(({ id }) => id);
    await this.locked([...ids].sort(), request.signal, () => this.capture(ids, request));
  }

  /** Nothing starts, stops, updates or removes them meanwhile; taken in one order everywhere. */
  private async locked(ids: readonly string[], signal: AbortSignal, deed: () => Promise<void>): Promise<void> {
    const [first, ...rest] = ids;
    if (first === undefined) return deed();
    await this.locks.run(first, signal, () => this.locked(rest, signal, deed));
  }

  private async capture(ids: readonly string[], request: CaptureRequest): Promise<void> {
    const { steps, signal, write } = request;
    const each = (deed: (id: string) => Promise<unknown>) => together(...ids.map(deed));
    let unfinished = request.files;
    for (const id of ids) this.running(id);
    try {
      await steps.do('record the checkpoint', async () => {
        await each((id) => this.work.settle(id));
        await each((id) => this.work.begin(id, request.files));
        for (const file of request.files) await requireWritable(file);
      });
      await steps.do('pause', () => each((id) => this.containerd.tasks.pause(id, callLimit(request))));
      // One after the other: CRIU and the differ use a core each, and memory images are large.
      await steps.do('dump the processes', async () => {
        for (const id of ids) await this.dump(id, request);
        for (const id of ids) await this.copyLog(id);
      });
      await steps.do('read the root file system', async () => {
        for (const id of ids) await this.readRootfs(id, callLimit(request));
      });
      await steps.do('read the shared memory', () => this.readSharedMemory(request));
      await steps.do('resume', () => each((id) => this.work.resume(id)));
      await steps.do('write the archive', async () => {
        for (const id of ids) await this.describe(id, request.sandbox);
        signal.throwIfAborted();
        await write(new Map(ids.map((id) => [id, captureDirectory(this.layout, id)])));
      });
      unfinished = [];
    } catch (error) {
      throw signal.aborted || isDeadlineExceeded(error) ? tooLate(error, signal) : error;
    } finally {
      await steps.do('end the checkpoint', () => Promise.all(ids.map((id) => this.work.end(id, unfinished))));
    }
  }

  private running(id: string): ContainerRecord {
    const container = this.containers.require(id);
    if (container.phase !== 'running') throw failedPrecondition(`container ${id} is ${container.phase}; only a running one can be checkpointed`);
    return container;
  }

  private async dump(id: string, request: CaptureRequest): Promise<void> {
    const directory = captureDirectory(this.layout, id);
    await removeTree(directory);
    const images = join(directory, ArchiveEntry.images);
    await mkdir(images, { recursive: true, mode: 0o700 });
    const { tty } = this.containers.require(id).config;
    const options = checkpointOptions({ exit: false, imagePath: images, workPath: directory, terminal: tty });
    try {
      await this.containerd.tasks.checkpoint(id, { options }, callLimit(request));
    } catch (error) {
      throw await withCriuErrors(error, join(directory, ArchiveEntry.dumpLog));
    }
  }

  private async readRootfs(id: string, limit: CallOptions): Promise<void> {
    const { snapshots, diff, content } = this.containerd;
    const { snapshotter } = this.containers.require(id);
    const lease = await this.work.lease(id);
    const { parent } = await snapshots.stat(snapshotter, id, limit);
    const [lower, upper] = await together(
      snapshots.view(snapshotter, this.work.viewKey(id), parent, { ...limit, lease, labels: ownedBy(id) }),
      snapshots.mounts(snapshotter, id, limit),
    );
    const layer = await diff.diff(lower, upper, { ...limit, lease, mediaType: mediaTypes.ociLayer, ref: this.work.viewKey(id) });
    const file = createWriteStream(join(captureDirectory(this.layout, id), ArchiveEntry.rootfsDiff), { flags: 'wx', mode: 0o600 });
    await pipeline(Readable.from(content.read(layer.digest, limit)), file);
  }

  /** Once for a pod: with its first container. The node's own, with host IPC, is left alone. */
  private async readSharedMemory({ sandbox, containers: [first], signal }: CaptureRequest): Promise<void> {
    const { shm } = this.files.paths(sandbox.id, sandbox.config);
    if (first === undefined || shm !== this.layout.shm(sandbox.id)) return;
    const names = await readdir(shm).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT' ? failedPrecondition(`sandbox ${sandbox.id} was stopped or removed meanwhile`) : error;
    });
    if (names.length === 0) return;
    await packTree(shm, join(captureDirectory(this.layout, first.id), ArchiveEntry.sharedMemory), signal);
  }

  /** The documents beside the images. */
  private async describe(id: string, sandbox: SandboxRecord): Promise<void> {
    const container = this.containers.require(id);
    const status = this.statuses.of(container);
    const { spec } = await this.containerd.containers.get(id);
    const directory = captureDirectory(this.layout, id);
    const documents = {
      [ArchiveEntry.config]: configDump(container, status.image?.image ?? container.imageRef, this.handlers.of(sandbox).runtime.name),
      [ArchiveEntry.spec]: Buffer.from(spec?.value ?? ''),
      [ArchiveEntry.status]: statusDump(status),
      [ArchiveEntry.containerdStatus]: containerdStatus(container),
    };
    await Promise.all(Object.entries(documents).map(([name, text]) => writeFile(join(directory, name), text, { mode: 0o600 })));
  }

  /** While it is paused: what it writes later is not of this picture. What it wrote before has gone through its pipes during the dump. */
  private async copyLog(id: string): Promise<void> {
    const { logPath } = this.containers.require(id);
    if (logPath === '') return;
    await copyFile(logPath, join(captureDirectory(this.layout, id), ArchiveEntry.log)).catch(ignoreMissing);
  }
}

/** Before anything is paused. @throws FAILED_PRECONDITION when no such file can be made */
async function requireWritable(file: string): Promise<void> {
  try {
    await (await open(file, 'wx', 0o600)).close();
    await rm(file);
  } catch (error) {
    throw failedPrecondition(`${dirname(file)} cannot be written to: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`);
  }
}

/** Moves a written file to its place, so that it is there whole or not at all, also after a crash of the machine. */
export async function putInPlace(partial: string, file: string): Promise<void> {
  await rename(partial, file);
  await syncDirectory(dirname(file));
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The time that is left, for containerd and through it for the shim, which ends its runtime then. */
function callLimit({ deadline, signal }: CaptureRequest): CallOptions {
  return { signal, ...(Number.isFinite(deadline) ? { timeoutMs: Math.max(1, deadline - performance.now()) } : {}) };
}

async function withCriuErrors(error: unknown, logFile: string): Promise<unknown> {
  const lines = criuErrors(await readFile(logFile, 'utf8').catch(() => ''));
  if (lines === '') return error;
  const { code, message } = toStatus(error);
  return new ShimError(code, `${message}: CRIU: ${lines}`, { cause: error });
}

function tooLate(error: unknown, signal: AbortSignal): unknown {
  const { message } = toStatus(error);
  const { code } = toStatus(signal.aborted ? signal.reason : error);
  return new ShimError(code, message, { cause: error });
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
