import { constants, createReadStream } from 'node:fs';
import { copyFile, lstat, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, normalize } from 'node:path';
import { decodeRuncOptions, mediaTypes, runcOptions, type CallOptions, type Containerd, type Mount } from '@criquet/runtime-containerd';
import { status } from '@grpc/grpc-js';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition, ShimError } from '../errors.js';
import { toStatus } from '../grpc/status.js';
import { prepareLogDirectory } from '../logging/index.js';
import { OwnCgroups } from '../runtime/own-cgroups.js';
import type { RuntimeHandler } from '../runtime/runtime-handlers.js';
import { SandboxFiles } from '../sandbox/sandbox-files.js';
import type { ContainerRecord } from '../state/container-record.js';
import type { Layout } from '../state/layout.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token } from '../tokens.js';
import { packFiles, unpackTree } from './archive-file.js';
import { ArchiveEntry } from './archive-layout.js';
import { CaptureWork } from './capture-work.js';
import { removePart, removeTree, restoreDirectory } from './checkpoint-directory.js';
import { criuErrors } from './criu-log.js';
import { endRestore } from './restore-leftovers.js';
import type { RestoreSource } from './restore-source.js';

/** CRIU's log of a restore, in its work directory. */
const RESTORE_LOG = 'restore.log';
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/** Brings a checkpoint back: its files into the container's layer and directory, then its processes instead of a new one. */
@scoped(Lifecycle.ContainerScoped)
export class Restoration {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(SandboxFiles) private readonly files: SandboxFiles,
    @inject(CaptureWork) private readonly work: CaptureWork,
    @inject(OwnCgroups) private readonly cgroups: OwnCgroups,
  ) {}

  /**
   * CreateContainer's part: everything but the processes. The archive is not needed any more afterwards.
   *
   * @param mounts of the container's snapshot, that nobody has written to
   */
  async prepare(containerId: string, source: RestoreSource, sandbox: SandboxRecord, logPath: string, mounts: readonly Mount[]): Promise<void> {
    const directory = this.directory(containerId);
    await removeTree(directory);
    await source.unpack(directory);
    const images = await readdir(join(directory, ArchiveEntry.images)).catch((): string[] => []);
    if (!images.includes('inventory.img')) throw failedPrecondition(`${source.name} has no ${ArchiveEntry.images}/inventory.img`);
    await mkdir(this.workDirectory(containerId), { mode: 0o700 });
    await this.applyRootfs(containerId, source.name, directory, mounts);
    await this.fillSharedMemory(directory, sandbox);
    await continueLog(join(directory, ArchiveEntry.log), logPath, sandbox);
    for (const entry of [ArchiveEntry.rootfsDiff, ArchiveEntry.deletedFiles, ArchiveEntry.sharedMemory, ArchiveEntry.log]) {
      await rm(join(directory, entry), { force: true });
    }
  }

  /** Takes back what {@link prepare} has made, but for what it added to the pod's shared memory. */
  async discard(containerId: string): Promise<void> {
    await this.work.discard(containerId);
  }

  /** StartContainer's part: with these options the shim restores instead of executing. */
  task(container: ContainerRecord, task: RuntimeHandler['task']): RuntimeHandler['task'] {
    if (container.restored !== true || task.options === undefined) return task;
    const options = runcOptions({
      ...decodeRuncOptions(task.options),
      criuImagePath: join(this.directory(container.id), ArchiveEntry.images),
      criuWorkPath: this.workDirectory(container.id),
    });
    return { ...task, options };
  }

  /** CRIU may wait for ever, so the time for a checkpoint bounds a restore as well. */
  limit({ restored }: ContainerRecord): CallOptions {
    return restored === true ? { timeoutMs: this.config.checkpoint.timeout } : {};
  }

  /** Kills what still restores a container that does not run, so that its shim answers again, and takes away what that leaves. */
  async end(container: ContainerRecord): Promise<void> {
    if (container.restored !== true) return;
    await endRestore(container, this.directory(container.id), this.cgroups);
  }

  /** Adds what CRIU says to the error of a start. */
  async explain(container: ContainerRecord, error: unknown): Promise<unknown> {
    if (container.restored !== true) return error;
    const log = await readFile(join(this.workDirectory(container.id), RESTORE_LOG), 'utf8').catch(() => '');
    const lines = criuErrors(log);
    if (lines === '') return error;
    const { code, message } = toStatus(error);
    return new ShimError(code, `${message}: CRIU: ${lines}`, { cause: error });
  }

  /** The memory images of a container that runs again are of no more use. What cannot be removed now goes with the container. */
  async forget(container: ContainerRecord): Promise<void> {
    if (container.restored !== true) return;
    await removePart(this.directory(container.id)).catch(() => undefined);
  }

  private directory(containerId: string): string {
    return restoreDirectory(this.layout, containerId);
  }

  private workDirectory(containerId: string): string {
    return join(this.directory(containerId), 'work');
  }

  /** By containerd's differ, which knows how a snapshotter says that a file is deleted. */
  private async applyRootfs(containerId: string, name: string, directory: string, mounts: readonly Mount[]): Promise<void> {
    const layers = [await whiteouts(directory), join(directory, ArchiveEntry.rootfsDiff)].filter((layer) => layer !== undefined);
    const lease = await this.work.lease(containerId);
    for (const layer of layers) {
      const entry = await stat(layer).catch(() => undefined);
      if (entry === undefined || entry.size === 0) continue;
      const mediaType = (await isGzip(layer)) ? mediaTypes.ociLayerGzip : mediaTypes.ociLayer;
      const ref = `${this.work.viewKey(containerId)}-${basename(layer)}`;
      const { digest, size } = await this.containerd.content.write({ ref, data: createReadStream(layer), total: entry.size }, { lease });
      await this.containerd.diff.apply({ mediaType, digest, size, annotations: {} }, mounts, { lease }).catch((error: unknown) => {
        throw damagedLayer(name, error);
      });
    }
    await this.work.dropLease(containerId);
  }

  private async fillSharedMemory(directory: string, sandbox: SandboxRecord): Promise<void> {
    const file = join(directory, ArchiveEntry.sharedMemory);
    const { shm } = this.files.paths(sandbox.id, sandbox.config);
    if (shm !== this.layout.shm(sandbox.id) || (await lstat(file).catch(() => undefined)) === undefined) return;
    await unpackTree(file, shm);
  }
}

/** The log goes on where the checkpointed one was, unless there is one already. */
async function continueLog(file: string, logPath: string, { config }: SandboxRecord): Promise<void> {
  if (logPath === '' || (await lstat(file).catch(() => undefined)) === undefined) return;
  await prepareLogDirectory(config.logDirectory, logPath);
  await copyFile(file, logPath, constants.COPYFILE_EXCL).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** A layer that deletes what `deleted.files` lists, as OCI layers do; undefined when it lists nothing. */
async function whiteouts(directory: string): Promise<string | undefined> {
  const text = await readFile(join(directory, ArchiveEntry.deletedFiles), 'utf8').catch(() => '[]');
  const listed = parsed(text);
  if (!Array.isArray(listed)) throw failedPrecondition(`${ArchiveEntry.deletedFiles} of the checkpoint is no list`);
  const paths = listed.filter((path): path is string => typeof path === 'string').map((path) => normalize(`/${path}`).slice(1));
  const names = paths.filter((path) => path !== '').map((path) => join(dirname(path), `.wh.${basename(path)}`));
  if (names.length === 0) return undefined;
  const tree = join(directory, 'whiteouts');
  for (const name of names) {
    await mkdir(join(tree, dirname(name)), { recursive: true });
    await writeFile(join(tree, name), '');
  }
  const layer = join(directory, 'whiteouts.tar');
  await packFiles(tree, names, layer);
  return layer;
}

/** Undefined for what is no JSON: the parser's own message quotes it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What containerd says of a layer that it cannot read has no code of its own. */
function damagedLayer(name: string, error: unknown): unknown {
  const { code, message } = toStatus(error);
  return code === status.UNKNOWN ? failedPrecondition(`${name}: ${ArchiveEntry.rootfsDiff} cannot be applied: ${message}`) : error;
}

async function isGzip(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.equals(GZIP_MAGIC);
  } finally {
    await handle.close();
  }
}
