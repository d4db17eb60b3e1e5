import { setTimeout as pause } from 'node:timers/promises';
import type { FilesystemUsage } from '@criquet/cri-api';
import type { Containerd, ContainerdReport } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { unixNanos } from '../state/clock.js';
import type { ContainerRecord } from '../state/container-record.js';
import { Slots } from '../state/slots.js';
import { Token } from '../tokens.js';

/** How long figures are good for: the snapshotter walks the files of the layer. As ImageFsInfo counts. */
const MAX_AGE_MS = 10_000;
/** So old they still do, while new ones are measured behind the answer: a kubelet asks every ten seconds, and gets what was measured when it asked before. */
const STALE_MS = 30_000;
/** How long a call waits for new figures; then it has the last ones, with their time, or none. */
const PATIENCE_MS = 2_000;
const MEASURED_AT_ONCE = 4;

interface Layer {
  /** It cannot change any more. */
  final?: boolean;
  latest?: FilesystemUsage;
  /** When `latest` was measured, in milliseconds of the monotonic clock. */
  measuredAt: number;
  underWay?: Promise<void>;
}

/** What containers wrote into their own layers. */
@scoped(Lifecycle.ContainerScoped)
export class WritableLayers {
  private readonly layers = new Map<string, Layer>();
  private readonly slots = new Slots(MEASURED_AT_ONCE);

  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.ContainerdReport) private readonly report: ContainerdReport,
  ) {}

  /** The directory whose file system holds the layers of a snapshotter. */
  mountpoint(snapshotter: string): string {
    return this.report.snapshotters.get(snapshotter)?.root ?? this.config.rootDir;
  }

  /**
   * Absent while nothing is known.
   * @param ended the container has: its layer is measured once more and never again.
   */
  async of({ id: containerId, snapshotter }: ContainerRecord, ended: boolean): Promise<FilesystemUsage | undefined> {
    const layer = this.layers.get(containerId) ?? { measuredAt: Number.NEGATIVE_INFINITY };
    this.layers.set(containerId, layer);
    const age = performance.now() - layer.measuredAt;
    if (layer.final === true || age < MAX_AGE_MS) return layer.latest;
    layer.underWay ??= this.slots
      .run(undefined, () => this.measure(containerId, snapshotter, layer, ended))
      // A layer that is not there (yet), or a containerd that does not answer, must not fail a list.
      .catch(() => undefined)
      .finally(() => delete layer.underWay);
    if (age < STALE_MS && !ended) return layer.latest;
    const patience = new AbortController();
    const late = pause(PATIENCE_MS, undefined, { signal: patience.signal, ref: false }).catch(() => undefined);
    await Promise.race([layer.underWay, late]);
    patience.abort('over');
    return layer.latest;
  }

  forget(containerId: string): void {
    this.layers.delete(containerId);
  }

  private async measure(containerId: string, snapshotter: string, layer: Layer, ended: boolean): Promise<void> {
    const { size, inodes } = await this.containerd.snapshots.usage(snapshotter, containerId);
    layer.latest = {
      timestamp: unixNanos(),
      fsId: { mountpoint: this.mountpoint(snapshotter) },
      usedBytes: { value: size },
      inodesUsed: { value: inodes },
    };
    layer.measuredAt = performance.now();
    layer.final = ended;
  }
}
