import { stat } from 'node:fs/promises';
import type { FilesystemUsage, ImageFsInfoRequest, ImageFsInfoResponse } from '@criquet/cri-api';
import { isNotFound, type Containerd, type ContainerdReport, type SnapshotterReport } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { unixNanos } from '../state/clock.js';
import { Token } from '../tokens.js';

/** How long figures are good for: for an active snapshot the snapshotter walks its files. As containerd's plugin counts. */
const MAX_AGE_MS = 10_000;

/** CRI ImageFsInfo: the file systems of the snapshotters, which hold images and containers alike; that of `containerd.snapshotter` first. */
@scoped(Lifecycle.ContainerScoped)
export class ImageFsInfo {
  private latest: { readonly at: number; readonly usages: Promise<FilesystemUsage[]> } | undefined;

  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.ContainerdReport) private readonly report: ContainerdReport,
  ) {}

  readonly handle: UnaryCall<ImageFsInfoRequest, ImageFsInfoResponse> = async () => {
    if (this.latest === undefined || performance.now() - this.latest.at > MAX_AGE_MS) {
      const usages = Promise.all([...this.report.snapshotters.values()].map((snapshotter) => this.measure(snapshotter)));
      this.latest = { at: performance.now(), usages };
      usages.catch(() => (this.latest = undefined));
    }
    const usages = await this.latest.usages;
    return { imageFilesystems: usages, containerFilesystems: usages };
  };

  private async measure(snapshotter: SnapshotterReport): Promise<FilesystemUsage> {
    const { snapshots } = this.containerd;
    let bytes = 0n;
    let inodes = 0n;
    for await (const snapshot of snapshots.list(snapshotter.name, [])) {
      try {
        const usage = await snapshots.usage(snapshotter.name, snapshot.name);
        bytes += usage.size;
        inodes += usage.inodes;
      } catch (error) {
        // It was removed meanwhile.
        if (!isNotFound(error)) throw error;
      }
    }
    return {
      timestamp: unixNanos(),
      fsId: { mountpoint: await this.mountpoint(snapshotter) },
      usedBytes: { value: bytes },
      inodesUsed: { value: inodes },
    };
  }

  /** The snapshotter's directory as containerd tells it. */
  private async mountpoint({ root = this.config.rootDir }: SnapshotterReport): Promise<string> {
    await stat(root);
    return root;
  }
}
