import type { NetworkInterfaceUsage, NetworkUsage, PodSandboxStats } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { LoopTurns } from '../runtime/loop-turns.js';
import { unixNanos } from '../state/clock.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token, type Containers, type NodeRoots, type Sandboxes } from '../tokens.js';
import { CgroupSamples, type CgroupSample } from './cgroup-samples.js';
import { cgroupUsage, NO_USAGE } from './cgroup-usage.js';
import { ContainerUsage } from './container-usage.js';
import { readNetworkDevices, type NetworkDevice } from './network-devices.js';
import { PodCgroups } from './pod-cgroups.js';
import { sumSamples } from './sum-samples.js';

/** The interface that CNI attaches first; see `sandbox/pod-network.ts`. */
const DEFAULT_INTERFACE = 'eth0';

/** What pods use: the pod's own cgroup, or its members' together, and the interfaces of its network namespace. */
@scoped(Lifecycle.ContainerScoped)
export class PodUsage {
  constructor(
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
    @inject(Token.Sandboxes) sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(CgroupSamples) private readonly samples: CgroupSamples,
    @inject(PodCgroups) private readonly cgroups: PodCgroups,
    @inject(ContainerUsage) private readonly containerUsage: ContainerUsage,
    @inject(LoopTurns) private readonly turns: LoopTurns,
  ) {
    sandboxes.observe((before, after) => {
      if (before === undefined || after !== undefined) return;
      this.samples.forget(before.id);
      this.samples.forget(podKey(before.id));
    });
  }

  /** CRI PodSandboxStats; of a pod that is not ready only what its containers have. */
  async of(sandbox: SandboxRecord): Promise<PodSandboxStats> {
    const containers = this.containers.all().filter(({ sandboxId, phase }) => sandboxId === sandbox.id && phase !== 'creating');
    const [{ sample, processes }, devices, ...containerStats] = await Promise.all([
      this.sample(sandbox).then(async (taken) => ({ sample: taken, processes: await taken?.processes() })),
      this.networkDevices(sandbox),
      ...containers.map((container) => this.containerUsage.of(container)),
    ]);
    const { cpu, memory, io } = sample === undefined ? NO_USAGE : cgroupUsage(sample);
    const { metadata, labels, annotations } = sandbox.config;
    return {
      attributes: { id: sandbox.id, metadata, labels, annotations },
      linux: {
        cpu,
        memory,
        io,
        network: devices && networkUsage(devices),
        process: sample && { timestamp: sample.at, processCount: { value: BigInt(processes?.length ?? 0) } },
        containers: containerStats,
      },
      windows: undefined,
    };
  }

  /** The interfaces of a pod with a network of its own; absent on the node's network, whose figures are not the pod's. */
  async networkDevices(sandbox: SandboxRecord): Promise<NetworkDevice[] | undefined> {
    if (sandbox.phase !== 'ready' || sandbox.netnsPath === '' || sandbox.pid === 0) return undefined;
    return this.turns.run(() => readNetworkDevices(sandbox.pid, this.roots.proc));
  }

  private async sample(sandbox: SandboxRecord): Promise<CgroupSample | undefined> {
    if (sandbox.phase !== 'ready') return undefined;
    const own = this.cgroups.own(sandbox);
    if (own !== undefined) return this.samples.of(podKey(sandbox.id), own, { withSwap: false });
    const members = this.containers.all().filter(({ sandboxId }) => sandboxId === sandbox.id);
    const samples = await Promise.all([
      this.samples.of(sandbox.id, this.cgroups.ofPause(sandbox), { withSwap: false }),
      ...members.map((container) => this.containerUsage.sample(container)),
    ]);
    return sumSamples(samples.filter((sample) => sample !== undefined));
  }
}

function podKey(sandboxId: string): string {
  return `pod ${sandboxId}`;
}

function networkUsage(devices: readonly NetworkDevice[]): NetworkUsage {
  const interfaces = devices.map(interfaceUsage);
  return {
    timestamp: unixNanos(),
    defaultInterface: interfaces.find(({ name }) => name === DEFAULT_INTERFACE) ?? interfaces[0],
    interfaces,
  };
}

function interfaceUsage({ name, received, sent }: NetworkDevice): NetworkInterfaceUsage {
  return {
    name,
    rxBytes: { value: received.bytes },
    rxErrors: { value: received.errors },
    txBytes: { value: sent.bytes },
    txErrors: { value: sent.errors },
  };
}
