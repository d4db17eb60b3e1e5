import type { ContainerMetrics } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { LoopTurns } from '../../runtime/loop-turns.js';
import { cgroupDirectory, type NodeFacts } from '../../spec/index.js';
import { unixNanos } from '../../state/clock.js';
import type { ContainerRecord } from '../../state/container-record.js';
import type { SandboxRecord } from '../../state/sandbox-record.js';
import { Slots } from '../../state/slots.js';
import { Token, type NodeRoots } from '../../tokens.js';
import { readBlockIo } from '../cgroup/block-io.js';
import type { CgroupFiles } from '../cgroup/cgroup-files.js';
import { readCpuTimes } from '../cgroup/cpu.js';
import { readHugePages } from '../cgroup/hugetlb.js';
import { readLimits } from '../cgroup/limits.js';
import { readMemoryEvents } from '../cgroup/memory-events.js';
import { readMemoryReclaim } from '../cgroup/memory-reclaim.js';
import { readThreads } from '../cgroup/threads.js';
import { ContainerUsage } from '../container-usage.js';
import { WritableLayers } from '../writable-layers.js';
import type { BlockDeviceNames } from './block-device-names.js';
import { addBlockIo, addCpu, addHugePages, addLimits, addMemory, addPressure, addReclaim } from './cgroup-metrics.js';
import type { FileSystem } from './file-system.js';
import { MetricList, seconds } from './metric-list.js';
import { countOpenFiles } from './open-files.js';
import { readOpenFilesLimit } from './ulimits.js';

/** Containers whose files are read at once. */
const READ_AT_ONCE = 8;

/** What belongs to the node, read once for all containers of a call. */
export interface NodeFigures {
  /** The file system that holds the layers of a snapshotter. */
  readonly fileSystem: (snapshotter: string) => Promise<FileSystem | undefined>;
  readonly deviceNames: BlockDeviceNames;
}

/** The metrics of running containers. */
@scoped(Lifecycle.ContainerScoped)
export class ContainerMetricsReader {
  private readonly slots = new Slots(READ_AT_ONCE);

  constructor(
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
    @inject(ContainerUsage) private readonly usage: ContainerUsage,
    @inject(WritableLayers) private readonly layers: WritableLayers,
    @inject(LoopTurns) private readonly turns: LoopTurns,
  ) {}

  /** Absent for a container that does not run. */
  async of(container: ContainerRecord, sandbox: SandboxRecord, figures: NodeFigures): Promise<ContainerMetrics | undefined> {
    if (container.phase !== 'running') return undefined;
    const list = new MetricList({
      container: container.config.metadata?.name ?? '',
      id: cgroupDirectory(container.cgroupsPath, { cgroup: 'v2' }, '', ''),
      image: container.config.image?.userSpecifiedImage || container.config.image?.image || '',
      name: container.id,
      namespace: sandbox.config.metadata?.namespace ?? '',
      pod: sandbox.config.metadata?.name ?? '',
    });
    const files = this.usage.cgroup(container);
    await Promise.all([
      this.slots.run(undefined, async () => {
        await this.addCgroup(list, container, files, figures);
        await this.addProcesses(list, container, files);
      }),
      this.addFileSystem(list, container, figures),
    ]);
    list.add('container_creation_time_seconds', seconds(container.createdAt));
    list.add('container_start_time_seconds', seconds(container.startedAt));
    list.add('container_last_seen', seconds(unixNanos()));
    return { containerId: container.id, metrics: list.metrics };
  }

  private async addCgroup(list: MetricList, container: ContainerRecord, files: CgroupFiles, figures: NodeFigures): Promise<void> {
    const sample = await this.usage.sample(container);
    const { events, reclaim, cpuTimes, pages, devices, limits } = await this.turns.run(() => ({
      events: readMemoryEvents(files),
      reclaim: readMemoryReclaim(files),
      cpuTimes: readCpuTimes(files),
      pages: readHugePages(files, this.node.hugepageSizes),
      devices: readBlockIo(files),
      limits: readLimits(files),
    }));
    await figures.deviceNames.load(devices);
    if (sample !== undefined) {
      addCpu(list, sample, cpuTimes);
      addMemory(list, sample, events);
      addPressure(list, sample);
      addReclaim(list, reclaim);
    }
    addHugePages(list, pages);
    addBlockIo(list, devices, (major, minor) => figures.deviceNames.of(major, minor));
    addLimits(list, limits, container.config.linux?.resources?.cpuShares ?? 0n);
  }

  private async addProcesses(list: MetricList, container: ContainerRecord, files: CgroupFiles): Promise<void> {
    const sample = await this.usage.sample(container);
    if (sample === undefined) return;
    const threads = readThreads(files);
    const processes = await sample.processes();
    const [open, openLimit] = await Promise.all([
      countOpenFiles(processes, this.roots.proc),
      readOpenFilesLimit(container.pid, this.roots.proc),
    ]);
    list.add('container_processes', BigInt(processes.length), [], sample.at);
    list.add('container_threads', threads);
    list.add('container_file_descriptors', open.descriptors);
    list.add('container_sockets', open.sockets);
    list.add('container_ulimits_soft', openLimit, ['max_open_files']);
  }

  private async addFileSystem(list: MetricList, container: ContainerRecord, figures: NodeFigures): Promise<void> {
    const fileSystem = await figures.fileSystem(container.snapshotter);
    if (fileSystem === undefined) return;
    const layer = await this.layers.of(container, false);
    const device = [fileSystem.device];
    list.add('container_fs_usage_bytes', layer?.usedBytes?.value, device, layer?.timestamp);
    list.add('container_fs_limit_bytes', fileSystem.size, device);
    list.add('container_fs_inodes_total', fileSystem.inodes, device);
    list.add('container_fs_inodes_free', fileSystem.freeInodes, device);
  }
}
