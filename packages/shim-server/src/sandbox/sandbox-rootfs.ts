import { isAlreadyExists, type Containerd, type ImageRunConfig, type Mount } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { ImageIndex } from '../image/image-index.js';
import { ImagePuller } from '../image/image-puller.js';
import { ImageUnpacker } from '../image/image-unpacker.js';
import { removeSnapshot } from '../runtime/already-gone.js';
import type { PodUserNamespace } from '../spec/index.js';
import { ownedBy } from '../state/owner-labels.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token } from '../tokens.js';
import { snapshotLabels } from '../userns/snapshot-labels.js';

/** Where the root of a sandbox's pause process comes from. */
export interface PlannedRootfs {
  /** For the containerd record; empty for the built-in pause. */
  readonly image: string;
  readonly snapshotter: string;
  readonly snapshotKey: string;
  /** The configured image's config; undefined for the built-in pause. */
  readonly imageConfig?: ImageRunConfig;
  /** Makes it ready. */
  mounts(signal?: AbortSignal): Promise<Mount[]>;
}

/** The built-in pause needs no image and no snapshot; `sandbox_image` in the configuration replaces it. */
@scoped(Lifecycle.ContainerScoped)
export class SandboxRootfs {
  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.PauseRoot) private readonly pauseRoot: string,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(ImageIndex) private readonly images: ImageIndex,
    @inject(ImageUnpacker) private readonly unpacker: ImageUnpacker,
    @inject(ImagePuller) private readonly puller: ImagePuller,
  ) {}

  async plan(sandboxId: string, snapshotter: string, userns: PodUserNamespace | undefined, signal?: AbortSignal): Promise<PlannedRootfs> {
    const { sandboxImage } = this.config;
    return sandboxImage === '' ? this.builtIn() : this.fromImage(sandboxId, sandboxImage, snapshotter, userns, signal);
  }

  /** Removes the snapshot, where there is one. */
  async remove({ id, snapshotter }: SandboxRecord): Promise<void> {
    if (snapshotter !== '') await removeSnapshot(this.containerd.snapshots, snapshotter, id);
  }

  private builtIn(): PlannedRootfs {
    const bind: Mount = { type: 'bind', source: this.pauseRoot, target: '', options: ['rbind', 'ro'] };
    return { image: '', snapshotter: '', snapshotKey: '', mounts: () => Promise.resolve([bind]) };
  }

  private async fromImage(
    sandboxId: string,
    reference: string,
    snapshotter: string,
    userns: PodUserNamespace | undefined,
    signal?: AbortSignal,
  ): Promise<PlannedRootfs> {
    const image = this.images.find(reference) ?? (await this.puller.pull({ reference, snapshotter, pinned: true, ...(signal ? { signal } : {}) }));
    const { snapshots } = this.containerd;
    return {
      image: image.name,
      snapshotter,
      snapshotKey: sandboxId,
      imageConfig: image.config.config ?? {},
      mounts: async () => {
        try {
          const labels = { ...snapshotLabels(userns), ...ownedBy(sandboxId) };
          return await this.unpacker.over(image, snapshotter, () => snapshots.prepare(snapshotter, sandboxId, image.chainId, { labels }));
        } catch (error) {
          if (isAlreadyExists(error)) return snapshots.mounts(snapshotter, sandboxId);
          throw error;
        }
      },
    };
  }
}
