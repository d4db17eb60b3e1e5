import { join } from 'node:path';

/** Where a pod's files are kept, in the kubelet's layout below `<root>/pods/<uid>`. */
export class PodDirectory {
  /** The directory itself. */
  readonly path: string;

  constructor(root: string, uid: string) {
    this.path = join(root, 'pods', uid);
  }

  volume(kind: 'emptyDir' | 'configMap' | 'secret', name: string): string {
    const plugin = { emptyDir: 'kubernetes.io~empty-dir', configMap: 'kubernetes.io~configmap', secret: 'kubernetes.io~secret' }[kind];
    return join(this.path, 'volumes', plugin, name);
  }

  /** Where one subPath of one container is bound, so that the container's mount has a source nobody in the pod can move. */
  subPath(volume: string, container: string, index: number): string {
    return join(this.path, 'volume-subpaths', volume, container, String(index));
  }

  /** Where a container's termination messages are written. */
  container(name: string): string {
    return join(this.path, 'containers', name);
  }

  get hosts(): string {
    return join(this.path, 'etc-hosts');
  }
}
