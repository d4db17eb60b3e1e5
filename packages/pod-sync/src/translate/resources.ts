import { LinuxContainerResources } from '@criquet/cri-api';
import type { Container, Pod, ResourceList } from '../manifest/pod.js';
import { milliValue, wholeValue } from '../manifest/quantity.js';
import type { NodeFacts } from '../node/node-facts.js';
import { oomScoreAdj } from './qos.js';

/** CFS period in microseconds (the kubelet's default). */
const PERIOD = 100_000n;
const MIN_SHARES = 2n;
const MAX_SHARES = 262_144n;
/** The kernel accepts no smaller quota, in microseconds. */
const MIN_QUOTA = 1000n;

/** cpu.shares for a request in thousandths of a cpu: 1024 a cpu, within what the kernel accepts. */
export function cpuShares(milliCpu: bigint): bigint {
  const shares = (milliCpu * 1024n) / 1000n;
  return shares < MIN_SHARES ? MIN_SHARES : shares > MAX_SHARES ? MAX_SHARES : shares;
}

/** Microseconds of a period that a limit in thousandths of a cpu allows; 0 without a limit. */
export function cpuQuota(milliCpu: bigint): bigint {
  if (milliCpu === 0n) return 0n;
  const quota = (milliCpu * PERIOD) / 1000n;
  return quota < MIN_QUOTA ? MIN_QUOTA : quota;
}

export function containerResources(pod: Pod, container: Container, node: NodeFacts): LinuxContainerResources {
  const { limits, requests } = container.resources;
  return LinuxContainerResources.fromPartial({
    ...cpuAndMemory(requests, limits),
    ...swap(limits, node),
    oomScoreAdj: BigInt(oomScoreAdj(pod, container, node.memoryCapacity)),
    hugepageLimits: hugepages(limits),
    // One process over the limit takes the container with it, as the kubelet sets it on cgroup v2.
    unified: node.cgroupV2 ? { 'memory.oom.group': '1' } : {},
  });
}

/** What all containers of the pod ask for together (CRI LinuxPodSandboxConfig.resources); the runtime may size a VM by it. */
export function sandboxResources(pod: Pod): LinuxContainerResources {
  const running = [...pod.spec.containers, ...pod.spec.initContainers.filter((container) => container.kind === 'sidecar')];
  const requests = sum(running, 'requests');
  const limits = sum(running, 'limits');
  return LinuxContainerResources.fromPartial(amounts(requests.cpu || limits.cpu, limits.cpu, limits.memory));
}

export function sandboxOverhead(pod: Pod): LinuxContainerResources {
  const { overhead } = pod.spec;
  return LinuxContainerResources.fromPartial(cpuAndMemory(overhead, overhead));
}

function cpuAndMemory(requests: ResourceList, limits: ResourceList) {
  const limit = milli(limits, 'cpu');
  return amounts(milli(requests, 'cpu') || limit, limit, whole(limits, 'memory'));
}

function amounts(cpuRequest: bigint, cpuLimit: bigint, memoryLimit: bigint) {
  return { cpuShares: cpuShares(cpuRequest), cpuPeriod: PERIOD, cpuQuota: cpuQuota(cpuLimit), memoryLimitInBytes: memoryLimit };
}

/** No swap: the limit for memory and swap together equals the one for memory (kubelet's NoSwap). */
function swap(limits: ResourceList, node: NodeFacts) {
  const limit = whole(limits, 'memory');
  return node.swapLimits && limit > 0n ? { memorySwapLimitInBytes: limit } : {};
}

function hugepages(limits: ResourceList) {
  return Object.entries(limits)
    .filter(([name]) => name.startsWith('hugepages-'))
    .map(([name, amount]) => ({ pageSize: `${name.slice('hugepages-'.length).replace(/i$/, '')}B`, limit: wholeValue(amount) }));
}

function sum(containers: readonly Container[], list: 'requests' | 'limits') {
  const total = (name: string, value: (list: ResourceList, name: string) => bigint) =>
    containers.reduce((amount, container) => amount + value(container.resources[list], name), 0n);
  return { cpu: total('cpu', milli), memory: total('memory', whole) };
}

function milli(list: ResourceList, name: string): bigint {
  const amount = list[name];
  return amount === undefined ? 0n : milliValue(amount);
}

function whole(list: ResourceList, name: string): bigint {
  const amount = list[name];
  return amount === undefined ? 0n : wholeValue(amount);
}
