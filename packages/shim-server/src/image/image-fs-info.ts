import { stat } from 'node:fs/promises';
import type { FilesystemUsage, ImageFsInfoRequest, ImageFsInfoResponse } from '@criquet/cri-api';
import { isNotFound, type Containerd, type ContainerdReport } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { unixNanos } from '../state/clock.js';
import { Token } from '../tokens.js';

/** How long figures are good for: for an active snapshot the snapshotter walks its files. As containerd's plugin counts. */
const MAX_AGE_MS = 10_000;

/** CRI ImageFsInfo: the snapshotter's file system, which holds images and containers alike. */
@scoped(Lifecycle.ContainerScoped)
export class ImageFsInfo {
  private latest: { readonly at: number; readonly usage: Promise<FilesystemUsage> } | undefined;

  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.ContainerdReport) private readonly report: ContainerdReport,
  ) {}

  readonly handle: UnaryCall<ImageFsInfoRequest, ImageFsInfoResponse> = async () => {
    if (this.latest === undefined || Date.now() - this.latest.at > MAX_AGE_MS) {
      const usage = this.measure();
      this.latest = { at: Date.now(), usage };
      usage.catch(() => (this.latest = undefined));
    }
    const usage = await this.latest.usage;
    return { imageFilesystems: [usage], containerFilesystems: [usage] };
  };

  private async measure(): Promise<FilesystemUsage> {
    const { snapshotter } = this.config.containerd;
    const { snapshots } = this.containerd;
    let bytes = 0n;
    let inodes = 0n;
    for await (const snapshot of snapshots.list(snapshotter, [])) {
      try {
        const usage = await snapshots.usage(snapshotter, snapshot.name);
        bytes += usage.size;
        inodes += usage.inodes;
      } catch (error) {
        // It was removed meanwhile.
        if (!isNotFound(error)) throw error;
      }
    }
    return {
      timestamp: unixNanos(),
      fsId: { mountpoint: await this.mountpoint() },
      usedBytes: { value: bytes },
      inodesUsed: { value: inodes },
    };
  }

  /** The snapshotter's directory as containerd tells it. */
  private async mountpoint(): Promise<string> {
    const root = this.report.snapshotter.root ?? this.config.rootDir;
    await stat(root);
    return root;
  }
}
