import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeCgroupRoot, removeCgroupRoot } from '../cgroup-root.js';
import { Daemon } from '../daemon.js';
import { keepKernelSettings } from '../kernel-settings.js';
import type { TestNode } from '../node.js';
import type { Room } from '../room.js';
import { findProgram } from './find-program.js';
import { expectReady, request, type Answer } from './https-request.js';
import { kubeletConfiguration, type KubeletFields } from './kubelet-configuration.js';

export interface KubeletOptions {
  /** The node in the room: its containerd and CRI runtime. */
  readonly node: TestNode;
  readonly room: Room;
  /** Fields of KubeletConfiguration that replace the harness' own. */
  readonly fields?: KubeletFields;
  /** A kubeconfig for the API server. Default: none, the kubelet stands alone with its static pods. */
  readonly kubeconfig?: string;
  /** Command line flags after the harness' own. */
  readonly flags?: readonly string[];
}

/** A static pod: a v1 Pod as an object. */
export interface StaticPod {
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly spec: unknown;
  readonly [field: string]: unknown;
}

/** A kubelet in a room, on the CRI runtime of that room's node. */
export class Kubelet {
  /** `https://ADDRESS:10250`; its certificate is its own. */
  readonly url: string;
  private daemon: Daemon | undefined;
  private restoreKernelSettings: (() => Promise<void>) | undefined;

  private constructor(
    private readonly program: string,
    private readonly options: KubeletOptions,
  ) {
    this.url = `https://${options.room.address}:10250`;
  }

  static async start(options: KubeletOptions): Promise<Kubelet> {
    const { node } = options;
    const kubelet = new Kubelet(await findProgram(node.environment, 'kubelet'), options);
    node.daemonsBeside.push(() => kubelet.pid);
    await mkdir(kubelet.staticPods, { recursive: true });
    await kubelet.makeCgroups();
    kubelet.restoreKernelSettings = keepKernelSettings();
    try {
      await kubelet.start();
    } catch (error) {
      await kubelet.dispose();
      throw error;
    }
    return kubelet;
  }

  get pid(): number | undefined {
    return this.daemon?.pid;
  }

  get logFile(): string | undefined {
    return this.daemon?.logFile;
  }

  /** The node's name, as the kubelet registers it and puts it behind the names of static pods. */
  get nodeName(): string {
    return this.options.room.name;
  }

  /** Starts it again after `stop`, with other fields of its configuration where some are given. */
  async start(fields: KubeletFields = this.options.fields ?? {}): Promise<void> {
    const { node, room, kubeconfig, flags } = this.options;
    const config = join(node.directory, 'kubelet.json');
    await writeFile(
      config,
      kubeletConfiguration({
        endpoint: node.endpoint,
        cgroupRoot: node.cgroupParent,
        address: room.address,
        staticPodPath: this.staticPods,
        fields,
      }),
    );
    this.daemon = await Daemon.start({
      name: 'kubelet',
      program: this.program,
      args: [
        `--config=${config}`,
        '--root-dir=/var/lib/kubelet',
        `--cert-dir=${join(node.directory, 'kubelet-certificates')}`,
        `--hostname-override=${room.name}`,
        `--node-ip=${room.address}`,
        ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
        ...(flags ?? []),
      ],
      env: { PATH: [...node.environment.tools, process.env.PATH ?? ''].join(':') },
      directory: node.directory,
      place: room,
      ready: () => expectReady(new URL('/healthz', this.url)),
      readyTimeoutMs: 60_000,
    });
  }

  /** Asks one of its endpoints, for example `/pods`. */
  get(path: string): Promise<Answer> {
    return request(new URL(path, this.url));
  }

  /** As `get`, with a method that may have an effect and take its time. */
  post(path: string): Promise<Answer> {
    return request(new URL(path, this.url), { method: 'POST', timeoutMs: 120_000 });
  }

  /** As `get`, and parses the JSON. Throws unless the status is 200. */
  async json<T>(path: string): Promise<T> {
    const { status, body } = await this.get(path);
    if (status !== 200) throw new Error(`${path}: ${status} ${body.toString()}`);
    return JSON.parse(body.toString()) as T;
  }

  /** Writes the manifest of a static pod, or replaces it. */
  async applyStaticPod(pod: StaticPod): Promise<void> {
    // Renamed, since the kubelet reads what it sees; it passes over names that begin with a dot.
    const written = join(this.staticPods, `.${pod.metadata.name}`);
    await writeFile(written, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod }));
    await rename(written, this.manifest(pod.metadata.name));
  }

  /** Takes the manifest away; the kubelet then ends the pod. */
  async deleteStaticPod(name: string): Promise<void> {
    await rm(this.manifest(name), { force: true });
  }

  /** Ends the kubelet; its pods go on. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.daemon?.stop(signal);
  }

  /** Ends it and takes back what it changed of the machine. Its pods are the node's, which is disposed of before the cgroups are. */
  async dispose(): Promise<void> {
    await this.stop();
    await this.restoreKernelSettings?.();
    this.restoreKernelSettings = undefined;
    await this.options.room.unmountVolumes();
  }

  /** Makes the cgroup that it wants to find as its root. */
  async makeCgroups(): Promise<void> {
    await makeCgroupRoot(this.options.node.cgroupParent);
  }

  /** Removes the cgroups that the kubelet made; call it when the node is gone. */
  async removeCgroups(): Promise<void> {
    await removeCgroupRoot(this.options.node.cgroupParent);
  }

  private get staticPods(): string {
    return join(this.options.node.directory, 'static-pods');
  }

  private manifest(name: string): string {
    return join(this.staticPods, `${name}.json`);
  }
}
