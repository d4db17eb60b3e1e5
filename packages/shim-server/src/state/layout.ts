import { join } from 'node:path';
import type { CriquetConfig } from '../config/index.js';

/** Where criquet keeps what belongs to an object. `stateDir` is lost at a reboot (tmpfs), `rootDir` is not. */
export class Layout {
  constructor(
    readonly stateDir: string,
    readonly rootDir: string,
    readonly netnsDir: string,
  ) {}

  static of({ stateDir, rootDir, cni: { netnsDir } }: Pick<CriquetConfig, 'stateDir' | 'rootDir' | 'cni'>): Layout {
    return new Layout(stateDir, rootDir, netnsDir === '' ? join(stateDir, 'netns') : netnsDir);
  }

  /** hosts, hostname and resolv.conf of a sandbox. */
  sandboxFiles(sandboxId: string): string {
    return join(this.rootDir, 'sandboxes', sandboxId);
  }

  /** What a sandbox has mounted. */
  sandboxState(sandboxId: string): string {
    return join(this.stateDir, 'sandboxes', sandboxId);
  }

  /** The tmpfs that is /dev/shm of a sandbox's containers. */
  shm(sandboxId: string): string {
    return join(this.sandboxState(sandboxId), 'shm');
  }

  /** Whether nobody else pins network namespaces where this criquet does. */
  get ownsNetnsDir(): boolean {
    return this.netnsDir.startsWith(`${this.stateDir}/`);
  }

  netns(sandboxId: string): string {
    return join(this.netnsDir, `criquet-${sandboxId}`);
  }

  /** Where the user namespace of a pod with a network of its own is pinned. */
  userns(sandboxId: string): string {
    return join(this.stateDir, 'userns', sandboxId);
  }

  /** The FIFOs of a container's process. */
  containerIo(containerId: string): string {
    return join(this.stateDir, 'io', containerId);
  }

  /** The FIFOs of an exec process. */
  execIo(containerId: string, execId: string): string {
    return join(this.stateDir, 'io', containerId, execId);
  }

  /** Where image layers are mounted for a look. */
  get lookup(): string {
    return join(this.stateDir, 'lookup');
  }

  /** Where the images are mounted that are a container's volumes. */
  imageVolumes(containerId: string): string {
    return join(this.stateDir, 'image-volumes', containerId);
  }

  /** The directories of the volumes that a container's image declares. */
  declaredVolumes(containerId: string): string {
    return join(this.rootDir, 'volumes', containerId);
  }

  /** What a checkpoint of a container is being put together from, and what it is to be restored from. */
  checkpoint(containerId: string): string {
    return join(this.rootDir, 'checkpoints', containerId);
  }

  /** The root of the built-in pause container of one build. */
  pauseRoot(build: string): string {
    return join(this.rootDir, 'pause', build);
  }

  /** The program of one build that makes user namespaces. */
  usernsChild(build: string): string {
    return join(this.rootDir, 'userns-child', build);
  }
}
