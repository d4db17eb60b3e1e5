import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { ContainerConfig } from '@criquet/cri-api';
import { decodeSpec, specTypeUrl, type Containerd, type RuntimeSpec } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition, invalidArgument, notFound } from '../errors.js';
import { ImageIndex, type IndexedImage } from '../image/image-index.js';
import { ImagePuller } from '../image/image-puller.js';
import { ImageUnpacker } from '../image/image-unpacker.js';
import { removeSnapshot } from '../runtime/already-gone.js';
import { readSnapshot } from '../runtime/snapshot-reader.js';
import { WorkLeases } from '../runtime/work-leases.js';
import type { Layout } from '../state/layout.js';
import { Token } from '../tokens.js';
import { requireNoContradiction, requireRestorable, requireSameProcess, withDumpedProcess } from './agreement.js';
import { isRestored, readDocuments, unpackArchive } from './archive-file.js';
import { ArchiveEntry } from './archive-layout.js';
import { readConfigDump, type CheckpointedContainer } from './documents.js';

/** A checkpoint that a container can be made of. */
export interface RestoreSource {
  /** The image below the container's own layer. */
  readonly image: IndexedImage;
  /** The archive or image, for messages. */
  readonly name: string;
  /** What is true of the restored container. @throws FAILED_PRECONDITION when a container of this spec cannot be what was checkpointed */
  adapt(wanted: RuntimeSpec): RuntimeSpec;
  /** Puts the files of the archive into a new directory. */
  unpack(directory: string): Promise<void>;
}

/** How a checkpoint's documents and files are got at. */
interface Opened {
  documents(): Promise<Map<string, string>>;
  unpack(directory: string): Promise<void>;
}

/** Annotations of an OCI image whose layer is a checkpoint archive: of checkpointctl and CRI-O, older and newer. */
const IMAGE_ANNOTATIONS = ['org.criu.checkpoint.container.name', 'io.kubernetes.cri-o.annotations.checkpoint.name'];
const DOCUMENTS = [ArchiveEntry.config, ArchiveEntry.spec];
const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024;

/** Finds the checkpoint that CRI `image` of a container means: the absolute path of an archive, or an image made of one. */
@scoped(Lifecycle.ContainerScoped)
export class RestoreSources {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(ImageIndex) private readonly images: ImageIndex,
    @inject(ImagePuller) private readonly puller: ImagePuller,
    @inject(ImageUnpacker) private readonly unpacker: ImageUnpacker,
    @inject(WorkLeases) private readonly leases: WorkLeases,
  ) {}

  /** Whether `image` means a checkpoint at all. */
  isCheckpoint(image: string): boolean {
    return isAbsolute(image) || this.checkpointImage(image) !== undefined;
  }

  /** @throws NOT_FOUND, or FAILED_PRECONDITION saying what the checkpoint lacks */
  async find(image: string, config: ContainerConfig): Promise<RestoreSource> {
    const found = this.checkpointImage(image);
    if (found !== undefined && !this.config.checkpoint.restoreImages) {
      throw failedPrecondition(`config.image.image: ${image} is a checkpoint, and checkpoint.restore_images is off`);
    }
    const opened = found === undefined ? await archive('config.image.image', image, stat) : this.ofImage(found);
    const { base, spec } = await this.described(image, opened);
    return {
      image: base,
      name: image,
      adapt: (wanted) => {
        requireNoContradiction('config', spec, wanted, config);
        requireRestorable('config', spec, wanted);
        return withDumpedProcess(spec, wanted);
      },
      unpack: opened.unpack,
    };
  }

  /**
   * One of a pod's containers. It must be what its configuration describes, since a kubelet believes that it is.
   *
   * @param field CRI path of the configuration, for messages
   */
  async ofPod(field: string, file: string, config: ContainerConfig): Promise<RestoreSource> {
    const opened = await archive('checkpoint_path', file, lstat);
    const { base, spec } = await this.described(file, opened);
    const named = this.images.find(config.image?.image ?? '');
    if (named !== undefined && named.id !== base.id) {
      throw failedPrecondition(`${field}.image: ${named.name} is not the image of the checkpoint, ${base.name}`);
    }
    return {
      image: base,
      name: file,
      adapt: (wanted) => {
        requireSameProcess(field, spec, wanted);
        requireRestorable(field, spec, wanted);
        return withDumpedProcess(spec, wanted);
      },
      unpack: opened.unpack,
    };
  }

  private checkpointImage(reference: string): IndexedImage | undefined {
    const image = isAbsolute(reference) ? undefined : this.images.find(reference);
    return image !== undefined && IMAGE_ANNOTATIONS.some((name) => image.annotations[name] !== undefined) ? image : undefined;
  }

  private async described(name: string, { documents }: Opened): Promise<{ base: IndexedImage; spec: RuntimeSpec }> {
    const { container, spec } = await this.read(name, documents);
    return { base: await this.baseImage(name, container), spec };
  }

  private async read(name: string, documents: Opened['documents']): Promise<{ container: CheckpointedContainer; spec: RuntimeSpec }> {
    try {
      const found = await documents();
      const text = (entry: string): string => {
        const document = found.get(entry);
        if (document === undefined) throw new Error(`it has no ${entry}`);
        return document;
      };
      const container = readConfigDump(text(ArchiveEntry.config));
      return { container, spec: decodeSpec({ typeUrl: specTypeUrl, value: Buffer.from(text(ArchiveEntry.spec)) }) };
    } catch (error) {
      throw failedPrecondition(`${name} is no checkpoint of a container: ${(error as Error).message}`);
    }
  }

  /** By digest: a tag may stand for another image now. One that is not here is pulled, without credentials. */
  private async baseImage(name: string, { imageRef, imageName }: CheckpointedContainer): Promise<IndexedImage> {
    const here = this.images.find(imageRef);
    if (here !== undefined) return here;
    if (!imageRef.includes('@')) throw failedPrecondition(`${name}: its image ${imageName} (${imageRef}) is not here`);
    return this.puller.pull({ reference: imageRef, snapshotter: this.config.containerd.snapshotter });
  }

  /** The files lie in the image's layers. */
  private ofImage(image: IndexedImage): Opened {
    return {
      documents: () =>
        this.look(image, async (root) => {
          const texts = new Map<string, string>();
          for (const name of DOCUMENTS) {
            const { size } = await plainFile(join(root, name));
            if (size > MAX_DOCUMENT_BYTES) throw new Error(`${name} has ${size} bytes`);
            texts.set(name, await readFile(join(root, name), 'utf8'));
          }
          return texts;
        }),
      unpack: (directory) => this.look(image, (root) => copyRestored(root, directory)),
    };
  }

  private async look<T>(image: IndexedImage, read: (root: string) => Promise<T>): Promise<T> {
    const { snapshots } = this.containerd;
    const { snapshotter } = this.config.containerd;
    const lease = this.leases.name('restore');
    try {
      await this.leases.begin(lease);
      const mounts = await this.unpacker.over(image, snapshotter, () => snapshots.view(snapshotter, lease, image.chainId, { lease }));
      const mountPoints = this.layout.lookup;
      await mkdir(mountPoints, { recursive: true, mode: 0o700 });
      return await readSnapshot(mounts, mountPoints, read);
    } finally {
      await removeSnapshot(snapshots, snapshotter, lease).catch(() => undefined);
      await this.leases.end(lease);
    }
  }
}

/** @param look `stat` where the caller names the file, `lstat` in a directory whose content is not trusted */
async function archive(field: string, file: string, look: typeof stat): Promise<Opened> {
  const entry = await look(file).catch(() => undefined);
  if (entry === undefined) throw notFound('checkpoint archive', file);
  if (!entry.isFile()) throw invalidArgument(field, `${file} is no regular file`);
  return {
    documents: () => readDocuments(file, DOCUMENTS),
    unpack: (directory) => unpackArchive(file, directory),
  };
}

/** The image is not trusted: links are not followed. */
async function plainFile(path: string): Promise<{ size: number }> {
  const entry = await lstat(path);
  if (!entry.isFile()) throw new Error(`${path} is no regular file`);
  return entry;
}

async function copyRestored(root: string, directory: string): Promise<void> {
  const images = join(root, ArchiveEntry.images);
  if (!(await lstat(images)).isDirectory()) throw new Error(`${ArchiveEntry.images} is no directory`);
  await mkdir(join(directory, ArchiveEntry.images), { recursive: true, mode: 0o700 });
  const names = [...(await readdir(root)), ...(await readdir(images)).map((name) => `${ArchiveEntry.images}/${name}`)];
  for (const name of names.filter((candidate) => candidate !== ArchiveEntry.images && isRestored(candidate))) {
    await plainFile(join(root, name));
    await copyFile(join(root, name), join(directory, name), constants.COPYFILE_FICLONE);
  }
}
