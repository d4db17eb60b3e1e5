import { setTimeout as pause } from 'node:timers/promises';
import { PodSandboxState } from '@criquet/cri-api';
import { patience, type Engine } from '../harness/environment.js';
import type { KubernetesNode } from '../harness/kubernetes/kubernetes-node.js';
import type { Answer } from '../harness/kubernetes/https-request.js';
import { eventually } from '../harness/eventually.js';
import type { NodeState } from '../harness/node-state.js';
import type { Runtime } from '../harness/node.js';
import type { Manifest } from './manifest.js';
import { conditionOf, isReady, type Pod } from './pod-status.js';

/** How long one look at /pods serves everybody who waits for something there, in milliseconds. */
const GLANCE_MS = 250;

/** What one of the compared nodes answered, by subject. */
export type Account = Map<string, unknown>;

/** One of the nodes that have the same pods: a kubelet on criquet, or the yardstick on containerd's own plugin. */
export class Side {
  /** What is compared with the other sides in the end. */
  readonly account: Account = new Map();
  private readonly applied = new Set<string>();
  private glance: { readonly until: number; readonly pods: Promise<Pod[]> } | undefined;

  private constructor(
    readonly machine: KubernetesNode,
    readonly runtime: Runtime,
    readonly engine: Engine,
    private readonly before: NodeState,
  ) {}

  static async of(machine: KubernetesNode, runtime: Runtime, engine: Engine): Promise<Side> {
    return new Side(machine, runtime, engine, await machine.node.state());
  }

  /** `criquet on containerd 2.1` */
  get label(): string {
    return this.runtime === 'criquet' ? `criquet on containerd ${this.engine}` : `containerd ${this.engine}'s own plugin`;
  }

  get kubelet(): KubernetesNode['kubelet'] {
    return this.machine.kubelet;
  }

  async apply(...pods: readonly Manifest[]): Promise<void> {
    for (const pod of pods) {
      this.applied.add(pod.metadata.name);
      await this.kubelet.applyStaticPod(pod);
    }
  }

  /** Takes a pod away and waits until nothing of it runs any more. */
  async remove(name: string): Promise<void> {
    await this.kubelet.deleteStaticPod(name);
    await this.nothingRuns(name);
    this.applied.delete(name);
  }

  /** Asks the runtime: the kubelet forgets a pod whose manifest is gone before it has ended. */
  private async nothingRuns(name?: string): Promise<void> {
    const labelSelector = name === undefined ? {} : { 'io.kubernetes.pod.name': this.fullName(name) };
    await eventually(async () => {
      const { items } = await this.machine.node.cri.runtime.listPodSandbox({ filter: { labelSelector, state: { state: PodSandboxState.SANDBOX_READY } } });
      if (items.length > 0) throw new Error(`${this.label}: still running: ${items.map(({ metadata }) => metadata?.name).join(', ')}`);
    }, 150_000, GLANCE_MS);
  }

  /** The kubelet puts the node's name behind a static pod's. */
  fullName(name: string): string {
    return `${name}-${this.kubelet.nodeName}`;
  }

  /** Path of a container for the endpoints that want one: `default/POD-NODE/CONTAINER`. */
  path(pod: string, container: string): string {
    return `default/${this.fullName(pod)}/${container}`;
  }

  async pods(): Promise<Pod[]> {
    if (this.glance === undefined || this.glance.until < Date.now()) {
      const pods = this.kubelet.json<{ items: Pod[] | null }>('/pods').then(({ items }) => items ?? []);
      this.glance = { until: Date.now() + GLANCE_MS, pods };
    }
    return this.glance.pods;
  }

  async pod(name: string): Promise<Pod> {
    const found = (await this.pods()).find((pod) => pod.metadata.name === this.fullName(name));
    if (found === undefined) throw new Error(`the kubelet does not know ${name} yet`);
    return found;
  }

  /** Waits until a pod is as wanted. Throws with its status after `timeoutMs` (default 150 s). */
  async until(name: string, wanted: (pod: Pod) => boolean, timeoutMs = 150_000): Promise<Pod> {
    const end = Date.now() + patience(timeoutMs);
    for (;;) {
      let why: string;
      try {
        const pod = await this.pod(name);
        if (wanted(pod)) return pod;
        why = JSON.stringify(pod.status);
      } catch (error) {
        why = String(error);
      }
      if (Date.now() > end) throw new Error(`${this.label}: ${name} did not become as wanted: ${why}`);
      await pause(GLANCE_MS);
    }
  }

  ready(name: string): Promise<Pod> {
    return this.until(name, isReady);
  }

  /** Waits until its containers have ended for good, and its sandbox with them. */
  ended(name: string): Promise<Pod> {
    return this.until(name, (pod) => ['Succeeded', 'Failed'].includes(pod.status.phase) && conditionOf(pod, 'PodReadyToStartContainers') === 'False');
  }

  /** A container's log through the kubelet, with the parameters of the API's log endpoint. */
  async log(pod: string, container: string, query = ''): Promise<string> {
    const { status, body } = await this.kubelet.get(`/containerLogs/${this.path(pod, container)}${query}`);
    if (status !== 200) throw new Error(`the log of ${container} in ${pod}: ${status} ${body.toString()}`);
    return body.toString();
  }

  /** The lines of its log, as soon as there are so many of them. */
  lines(pod: string, container: string, count: number): Promise<string[]> {
    return eventually(async () => {
      const text = await this.log(pod, container);
      const lines = text.split('\n').slice(0, -1);
      if (lines.length < count) throw new Error(`the log of ${container} in ${pod} has not ${count} lines yet: ${text}`);
      return lines;
    }, 20_000, GLANCE_MS);
  }

  /** What a script in the container prints, by the kubelet's /run (ExecSync), which takes its words apart at spaces. */
  async run(pod: string, container: string, ...words: string[]): Promise<string> {
    const { status, body } = await this.post(`/run/${this.path(pod, container)}?cmd=${encodeURIComponent(words.join(' '))}`);
    if (status !== 200) throw new Error(`${words.join(' ')} in ${container} of ${pod}: ${status} ${body.toString()}`);
    return body.toString();
  }

  post(path: string): Promise<Answer> {
    return this.kubelet.post(path);
  }

  /** Keeps an answer for the comparison. */
  tell(subject: string, answer: unknown): void {
    if (this.account.has(subject)) throw new Error(`${subject} was told already`);
    this.account.set(subject, answer);
  }

  /**
   * Takes the pods away, and with them what a kubelet's collection takes, which it does once a minute; returns what is left of them on the
   * node.
   */
  async leftovers(): Promise<string[]> {
    const { node } = this.machine;
    for (const name of this.applied) await this.kubelet.deleteStaticPod(name);
    await this.nothingRuns();
    await eventually(async () => {
      const { cgroups } = await node.state();
      const left = cgroups.filter((cgroup) => !this.before.cgroups.includes(cgroup));
      if (left.length > 0) throw new Error(`${this.label}: the kubelet has left ${left.join(', ')}`);
    }, 40_000, 1_000);
    await this.kubelet.stop();
    await node.removePods();
    return (await node.leaksSince(this.before, 10_000)).filter((line) => line.includes(': + '));
  }
}
