import { randomBytes } from 'node:crypto';
import {
  chainId,
  isAlreadyExists,
  isNotFound,
  resolveImage,
  type Containerd,
  type Descriptor,
  type ResolvedImage,
} from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition, type ShimError } from '../errors.js';
import { removeSnapshot } from '../runtime/already-gone.js';
import { WorkLeases } from '../runtime/work-leases.js';
import { KeyedMutex } from '../state/keyed-mutex.js';
import { Token } from '../tokens.js';
import { ImageIndex, type IndexedImage } from './image-index.js';
import { unusableImage } from './pull-error.js';

/** Layers may be large and disks slow; containerd bounds an unpacking by nothing at all. */
const APPLY_MS = 60 * 60_000;

/**
 * Sees to it that a snapshotter holds an image. A pull unpacks for the snapshotter of its handler only, containerd's transfer plugin only for those of
 * its `unpack_config`, and somebody may have removed a snapshot; what is missing is made here of the layers in the content store.
 */
@scoped(Lifecycle.ContainerScoped)
export class ImageUnpacker {
  private readonly mutex = new KeyedMutex();

  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(WorkLeases) private readonly leases: WorkLeases,
    @inject(ImageIndex) private readonly index: ImageIndex,
  ) {}

  /** Whether there is nothing to do. */
  async holds(image: Pick<IndexedImage, 'chainId'>, snapshotter: string): Promise<boolean> {
    if (image.chainId === '') return true;
    try {
      await this.containerd.snapshots.stat(snapshotter, image.chainId);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Makes a snapshot over an image; when the snapshotter does not hold the image, it is unpacked first. @throws as `unpack` */
  async over<T>(image: Pick<IndexedImage, 'chainId' | 'name'>, snapshotter: string, make: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await make();
    } catch (error) {
      if (!isNotFound(error) || (await this.holds(image, snapshotter))) throw error;
    }
    await this.unpack(image, snapshotter, signal);
    return make();
  }

  /**
   * @throws FAILED_PRECONDITION when a layer is not in the content store any more: the image has to be pulled again
   */
  async unpack(image: Pick<IndexedImage, 'chainId' | 'name'>, snapshotter: string, signal?: AbortSignal): Promise<void> {
    await this.mutex.run(`${snapshotter} ${image.chainId}`, signal, async () => {
      if (await this.holds(image, snapshotter)) return;
      const lease = this.leases.name('unpack');
      try {
        await this.leases.begin(lease);
        await this.unpackLayers(image.name, snapshotter, lease, signal);
      } catch (error) {
        // One that cannot be unpacked must not be taken for present: nobody would pull it again.
        await this.index.reread(image.name);
        throw error;
      } finally {
        await this.leases.end(lease);
      }
    });
  }

  private async unpackLayers(name: string, snapshotter: string, lease: string, signal: AbortSignal | undefined): Promise<void> {
    const { target } = await this.containerd.images.get(name);
    const image = await resolveImage(this.containerd.content, target).catch((error: unknown) => {
      throw unusableImage(error, name) ?? error;
    });
    const diffIds = image.config.rootfs.diff_ids;
    if (diffIds.length !== image.layers.length) {
      throw failedPrecondition(`image ${name} cannot be used: ${image.layers.length} layers and ${diffIds.length} diff ids`);
    }
    let parent = '';
    for (const [index, layer] of image.layers.entries()) {
      const [diffId = '', key] = [diffIds[index], chainId(diffIds.slice(0, index + 1))];
      if (!(await this.holds({ chainId: key }, snapshotter))) {
        await this.unpackLayer(name, { layer, diffId, parent, chainId: key }, snapshotter, lease, signal);
      }
      parent = key;
    }
    await this.keep(image, snapshotter);
  }

  private async unpackLayer(
    name: string,
    { layer, diffId, parent, chainId: snapshot }: { layer: Descriptor; diffId: string; parent: string; chainId: string },
    snapshotter: string,
    lease: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { snapshots, diff } = this.containerd;
    const options = { lease, ...(signal === undefined ? {} : { signal }) };
    // containerd's own name for what it unpacks; a snapshotter may know it by that.
    const key = `extract-${randomBytes(8).toString('hex')} ${snapshot}`;
    const labels = { 'containerd.io/snapshot.ref': snapshot };
    const mounts = await snapshots.prepare(snapshotter, key, parent, { ...options, labels }).catch((error: unknown) => {
      // A snapshotter that has the layer already says so by this.
      if (isAlreadyExists(error)) return undefined;
      throw error;
    });
    if (mounts === undefined) return;
    try {
      const applied = await diff.apply(layer, mounts, { ...options, timeoutMs: APPLY_MS });
      if (applied.digest !== diffId) {
        throw failedPrecondition(`image ${name} cannot be used: layer ${layer.digest} unpacks to ${applied.digest}, its config says ${diffId}`);
      }
      await snapshots.commit(snapshotter, snapshot, key, { ...options, labels });
    } catch (error) {
      await removeSnapshot(snapshots, snapshotter, key).catch(() => undefined);
      if (isAlreadyExists(error)) return;
      throw isNotFound(error) ? layerMissing(name, layer, snapshotter, error) : error;
    }
  }

  /** The image keeps the snapshot from garbage collection by a label of its config. */
  private async keep(image: ResolvedImage, snapshotter: string): Promise<void> {
    const label = `containerd.io/gc.ref.snapshot.${snapshotter}`;
    await this.containerd.content.update(image.configDigest, { [label]: image.chainId }, [`labels.${label}`]);
  }
}

function layerMissing(name: string, layer: Descriptor, snapshotter: string, cause: unknown): ShimError {
  const error = failedPrecondition(
    `image ${name} is not unpacked for snapshotter ${snapshotter} and its layer ${layer.digest} is not in the content store any more: pull it again`,
  );
  error.cause = cause;
  return error;
}
