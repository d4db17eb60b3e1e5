import { parseManifest, type Manifest, type NodeFacts } from '../src/index.js';
import type { Mounter } from '../src/volumes/mount-command.js';

/** A machine with 8 GB and four processors. */
export const node: NodeFacts = {
  nodeName: 'node-1',
  hostIps: ['192.0.2.10', '2001:db8::10'],
  cpuCount: 4,
  memoryCapacity: 8_000_000_000n,
  swapLimits: true,
  cgroupV2: false,
  resolvConf: { nameservers: ['192.0.2.53'], searches: ['example.test'], options: ['timeout:2'] },
};

/** A pod named `p` with the given lines below spec, and the documents of `more`. */
export function manifest(spec: string, more = '', metadata = ''): Manifest {
  const indented = spec.trim().split('\n').map((line) => `  ${line}`).join('\n');
  const text = `apiVersion: v1\nkind: Pod\nmetadata: { name: p${metadata === '' ? '' : `, ${metadata}`} }\nspec:\n${indented}\n${more}`;
  return parseManifest(text, 'test.yaml').manifest;
}

/** The first ordinary container of a manifest. */
export function firstContainer(m: Manifest) {
  const [container] = m.pod.spec.containers;
  if (container === undefined) throw new Error('no container');
  return container;
}

/** Remembers mounts and makes none. */
export class FakeMounter implements Mounter {
  readonly mounts: { target: string; source: string; options?: object }[] = [];

  async tmpfs(target: string, options: object): Promise<void> {
    this.mounts.push({ target, source: 'tmpfs', options });
  }

  async bind(source: string, target: string): Promise<void> {
    this.mounts.push({ target, source });
  }

  async unmount(target: string): Promise<void> {
    const index = this.mounts.findLastIndex((mount) => mount.target === target);
    if (index < 0) throw new Error(`${target} is not mounted`);
    this.mounts.splice(index, 1);
  }

  async below(directory: string): Promise<string[]> {
    const inside = this.mounts.map((mount) => mount.target).filter((target) => target === directory || target.startsWith(`${directory}/`));
    return inside.reverse();
  }
}
