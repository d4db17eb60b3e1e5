import type { PodSandboxMetrics } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { SandboxRecord } from '../../state/sandbox-record.js';
import { Token, type Containers, type NodeRoots, type Sandboxes } from '../../tokens.js';
import type { NetworkDevice } from '../network-devices.js';
import { PodUsage } from '../pod-usage.js';
import { WritableLayers } from '../writable-layers.js';
import { BlockDeviceNames } from './block-device-names.js';
import { ContainerMetricsReader, type NodeFigures } from './container-metrics.js';
import { readFileSystem, type FileSystem } from './file-system.js';
import { MetricList } from './metric-list.js';

/** The metrics of ready pods and of what runs in them. What cannot be read is left out. */
@scoped(Lifecycle.ContainerScoped)
export class PodMetrics {
  constructor(
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(PodUsage) private readonly usage: PodUsage,
    @inject(WritableLayers) private readonly layers: WritableLayers,
    @inject(ContainerMetricsReader) private readonly reader: ContainerMetricsReader,
  ) {}

  async list(): Promise<PodSandboxMetrics[]> {
    const figures: NodeFigures = {
      fileSystem: this.fileSystems(),
      deviceNames: new BlockDeviceNames(this.roots.sys),
    };
    const ready = this.sandboxes.all().filter(({ phase }) => phase === 'ready');
    return Promise.all(ready.map((sandbox) => this.of(sandbox, figures)));
  }

  /** Each looked at once. */
  private fileSystems(): NodeFigures['fileSystem'] {
    const found = new Map<string, Promise<FileSystem | undefined>>();
    return (snapshotter) => {
      const known = found.get(snapshotter) ?? readFileSystem(this.layers.mountpoint(snapshotter), this.roots.proc);
      found.set(snapshotter, known);
      return known;
    };
  }

  private async of(sandbox: SandboxRecord, figures: NodeFigures): Promise<PodSandboxMetrics> {
    const members = this.containers.all().filter(({ sandboxId }) => sandboxId === sandbox.id);
    const [devices, ...containerMetrics] = await Promise.all([
      this.usage.networkDevices(sandbox),
      ...members.map((container) => this.reader.of(container, sandbox, figures)),
    ]);
    const { metadata, linux } = sandbox.config;
    const list = new MetricList({
      container: '',
      id: linux?.cgroupParent ?? '',
      image: '',
      name: sandbox.id,
      namespace: metadata?.namespace ?? '',
      pod: metadata?.name ?? '',
    });
    for (const device of devices ?? []) addNetworkDevice(list, device);
    return {
      podSandboxId: sandbox.id,
      metrics: list.metrics,
      containerMetrics: containerMetrics.filter((metrics) => metrics !== undefined),
    };
  }
}

function addNetworkDevice(list: MetricList, { name, received, sent }: NetworkDevice): void {
  for (const [direction, counts] of [['receive', received], ['transmit', sent]] as const) {
    list.add(`container_network_${direction}_bytes_total`, counts.bytes, [name]);
    list.add(`container_network_${direction}_packets_total`, counts.packets, [name]);
    list.add(`container_network_${direction}_packets_dropped_total`, counts.dropped, [name]);
    list.add(`container_network_${direction}_errors_total`, counts.errors, [name]);
  }
}
