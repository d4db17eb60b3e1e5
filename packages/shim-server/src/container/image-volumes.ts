import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { MountPropagation, type Mount } from '@criquet/cri-api';
import type { Containerd } from '@criquet/runtime-containerd';
import { status } from '@grpc/grpc-js';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { invalidArgument, notFound, ShimError } from '../errors.js';
import { toStatus } from '../grpc/status.js';
import { ImageIndex } from '../image/image-index.js';
import { ImageUnpacker } from '../image/image-unpacker.js';
import { removeSnapshot } from '../runtime/already-gone.js';
import { makeDirectories } from '../runtime/make-directories.js';
import { bindReadOnly } from '../runtime/mount.js';
import { removeMountPoint, removeMountPoints } from '../runtime/mount-point.js';
import { openInRoot, TooManyLinks } from '../runtime/open-in-root.js';
import { removeDirectory } from '../runtime/remove-directory.js';
import { mountReadOnly } from '../runtime/snapshot-mount.js';
import { checkImageIdMappings, isImageMount, type PodUserNamespace } from '../spec/index.js';
import type { ImageVolume } from '../state/container-record.js';
import type { Layout } from '../state/layout.js';
import { ownedBy } from '../state/owner-labels.js';
import { Token } from '../tokens.js';

/** PATH_MAX without its final NUL, and NAME_MAX (limits.h). */
const MAX_PATH_BYTES = 4095;
const MAX_NAME_BYTES = 255;

/** What a container's volumes are planned by. */
export interface ImageVolumeSurroundings {
  readonly snapshotter: string;
  /** The pod's; undefined in the node's own. */
  readonly userns: PodUserNamespace | undefined;
}

/** Who is to read a volume. */
export interface VolumeOwner {
  readonly label: string | undefined;
  readonly userns: string | undefined;
}

/**
 * Images as volumes (CRI `Mount.image`): the image is mounted from a read-only snapshot of its own at a directory of the
 * container's, which is then bound into the container. The snapshot holds the image's layers for as long as it exists, and the
 * label of the container's record holds the snapshot.
 *
 * Every error has the reason `ImageVolumeMountFailed`.
 */
@scoped(Lifecycle.ContainerScoped)
export class ImageVolumes {
  constructor(
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(ImageIndex) private readonly images: ImageIndex,
    @inject(ImageUnpacker) private readonly unpacker: ImageUnpacker,
  ) {}

  /** What is to be mounted. @throws INVALID_ARGUMENT naming the field; NOT_FOUND for an image that is not on the node */
  plan(containerId: string, mounts: readonly Mount[], { snapshotter, userns }: ImageVolumeSurroundings): ImageVolume[] {
    return mounts.flatMap((mount, index) => {
      if (!isImageMount(mount)) return [];
      try {
        checkImageMount(mount, field(index));
        checkImageIdMappings(mount, field(index), userns);
        const reference = mount.image?.image ?? '';
        const image = this.images.find(reference);
        if (image === undefined) throw notFound('image', reference);
        return [{ index, imageId: image.id, snapshotter, snapshotKey: `${containerId}-image-${index}` }];
      } catch (error) {
        throw mountFailed(index, error);
      }
    });
  }

  /** Where they are mounted, by their place among the container's mounts, whether or not they are yet. */
  hostPaths(containerId: string, volumes: readonly ImageVolume[]): Map<number, string> {
    return new Map(volumes.map(({ index }) => [index, this.hostPath(containerId, index)]));
  }

  /** The labels of a container's record that keep its snapshots from containerd's garbage collection. */
  recordLabels(volumes: readonly ImageVolume[]): Record<string, string> {
    return Object.fromEntries(
      volumes.map(({ snapshotter, index, snapshotKey }) => [`containerd.io/gc.ref.snapshot.${snapshotter}/image-${index}`, snapshotKey]),
    );
  }

  /**
   * @param mounts all of the container's
   * @param owner `label`: the SELinux label of the container's files. `userns`: path of the user namespace in which it runs
   */
  async mount(containerId: string, volumes: readonly ImageVolume[], mounts: readonly Mount[], owner: VolumeOwner): Promise<void> {
    if (volumes.length > 0) await makeDirectories(this.layout.lookup, 0o700);
    for (const volume of volumes) {
      try {
        await this.mountOne(containerId, volume, mounts[volume.index]?.imageSubPath ?? '', owner);
      } catch (error) {
        throw mountFailed(volume.index, error);
      }
    }
  }

  /** Unmounts and removes them; what is gone already is fine. */
  async remove(containerId: string, volumes: readonly ImageVolume[]): Promise<void> {
    const directory = this.layout.imageVolumes(containerId);
    // A record that cannot be read names none.
    if (existsSync(directory)) {
      await removeMountPoints(directory);
      await removeDirectory(directory);
    }
    for (const { snapshotter, snapshotKey } of volumes) await removeSnapshot(this.containerd.snapshots, snapshotter, snapshotKey);
  }

  private hostPath(containerId: string, index: number): string {
    return join(this.layout.imageVolumes(containerId), String(index));
  }

  private async mountOne(containerId: string, volume: ImageVolume, subPath: string, { label, userns }: VolumeOwner): Promise<void> {
    const path = this.hostPath(containerId, volume.index);
    await makeDirectories(path, 0o711);
    const { snapshotter, snapshotKey, imageId } = volume;
    const image = this.images.find(imageId);
    if (image === undefined) throw notFound('image', imageId);
    const view = () => this.containerd.snapshots.view(snapshotter, snapshotKey, image.chainId, { labels: ownedBy(containerId) });
    const snapshot = await this.unpacker.over(image, snapshotter, view);
    const ids = userns === undefined ? undefined : { path: userns, scratch: this.layout.lookup };
    const options = { context: label, userns: ids };
    if (subPath === '') return mountReadOnly(snapshot, path, options);
    // Not laid over the mount itself: where mounts are shared, which systemd makes them, a bind mount is a peer of the file system
    // that holds the layer, and what lies on the one lies on the other, for every container of that image.
    const whole = await mkdtemp(join(this.layout.lookup, 'image-'));
    try {
      await mountReadOnly(snapshot, whole, options);
      await bindPart(whole, subPath, path);
    } finally {
      await removeMountPoint(whole);
    }
  }
}

/** Mounts the directory `subPath` of `root` at `path`; no link leads out of `root`. */
async function bindPart(root: string, subPath: string, path: string): Promise<void> {
  await openInRoot(root, subPath, async (found) => {
    if (found === undefined) throw new ShimError(status.NOT_FOUND, `image_sub_path ${JSON.stringify(subPath)} does not exist in the image`);
    // A single file is no goal of image volumes (KEP 4639).
    if (!(await found.stat()).isDirectory()) throw invalidArgument('image_sub_path', `${JSON.stringify(subPath)} is no directory`);
    bindReadOnly(`/proc/self/fd/${found.fd}`, path);
  }).catch((error: unknown) => {
    throw error instanceof TooManyLinks ? invalidArgument('image_sub_path', error.message) : error;
  });
}

function checkImageMount(mount: Mount, name: string): void {
  if (mount.hostPath !== '') throw invalidArgument(`${name}.host_path`, 'must be empty where image is given');
  if (mount.image?.image === '') throw invalidArgument(`${name}.image.image`, 'is empty');
  if (!mount.readonly) throw invalidArgument(`${name}.readonly`, 'must be true: images are mounted read-only');
  if (mount.propagation === MountPropagation.PROPAGATION_BIDIRECTIONAL) {
    throw invalidArgument(`${name}.propagation`, 'nothing can be propagated out of an image');
  }
  const subPath = mount.imageSubPath;
  if (Buffer.byteLength(subPath) > MAX_PATH_BYTES) throw invalidArgument(`${name}.image_sub_path`, `is longer than ${MAX_PATH_BYTES} bytes`);
  if (subPath.split('/').some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) {
    throw invalidArgument(`${name}.image_sub_path`, `has a name longer than ${MAX_NAME_BYTES} bytes`);
  }
  if (subPath.startsWith('/') || subPath.split('/').includes('..')) {
    throw invalidArgument(`${name}.image_sub_path`, `${JSON.stringify(subPath)} is absolute or holds ".."`);
  }
  if (subPath.includes('\0')) throw invalidArgument(`${name}.image_sub_path`, 'holds a NUL byte');
}

function field(index: number): string {
  return `config.mounts[${index}]`;
}

function mountFailed(index: number, error: unknown): ShimError {
  const { code, message } = toStatus(error);
  const named = message.startsWith(field(index)) ? message : `${field(index)}: ${message}`;
  return new ShimError(code, named, { cause: error, reason: 'ImageVolumeMountFailed' });
}
