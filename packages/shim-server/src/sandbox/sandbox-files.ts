import { existsSync } from 'node:fs';
import { chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { PodSandboxConfig } from '@criquet/cri-api';
import type { CriquetConfig } from '../config/index.js';
import { chooseNodeResolvConf, hostnameFile, hostsFile, resolvConf } from '../pod-files/index.js';
import { makeDirectories } from '../runtime/make-directories.js';
import { removeMountPoint } from '../runtime/mount-point.js';
import { mount, MountFlag } from '../runtime/mount.js';
import { readTextSync } from '../runtime/read-text-sync.js';
import { removeDirectory } from '../runtime/remove-directory.js';
import { hasHostIpc, hasHostNetwork, onNode, podUserNamespace, ROOT_USER, type PodFiles } from '../spec/index.js';
import type { Layout } from '../state/layout.js';
import { Token } from '../tokens.js';

/** The files and the shared memory that a sandbox's containers see: /etc/hosts, /etc/hostname, /etc/resolv.conf, /dev/shm. */
@scoped(Lifecycle.ContainerScoped)
export class SandboxFiles {
  constructor(
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(Token.Config) private readonly config: CriquetConfig,
  ) {}

  /** Where they are, whether or not they exist yet. */
  paths(sandboxId: string, config: PodSandboxConfig): PodFiles {
    const dir = this.layout.sandboxFiles(sandboxId);
    return {
      hosts: join(dir, 'hosts'),
      hostname: join(dir, 'hostname'),
      resolvConf: join(dir, 'resolv.conf'),
      shm: hasHostIpc(config) ? '/dev/shm' : this.layout.shm(sandboxId),
    };
  }

  async create(sandboxId: string, config: PodSandboxConfig): Promise<void> {
    const paths = this.paths(sandboxId, config);
    await makeDirectories(this.layout.sandboxFiles(sandboxId), 0o711);
    const nodeResolvConf = chooseNodeResolvConf(readTextSync('/etc/resolv.conf') ?? '', readTextSync('/run/systemd/resolve/resolv.conf') ?? '');
    const root = podRoot(config);
    await Promise.all([
      writeFile(paths.hosts, hostsFile(readTextSync('/etc/hosts') ?? ''), { mode: 0o644 }),
      writeFile(paths.hostname, hostnameFile(config.hostname, hasHostNetwork(config)), { mode: 0o644 }),
      writeFile(paths.resolvConf, resolvConf(config.dnsConfig, nodeResolvConf), { mode: 0o644 }),
    ]);
    if (root !== undefined) await Promise.all([paths.hosts, paths.hostname, paths.resolvConf].map((file) => chown(file, root.uid, root.gid)));
    if (!hasHostIpc(config)) {
      await makeDirectories(paths.shm, 0o700);
      mount('shm', paths.shm, 'tmpfs', MountFlag.nosuid | MountFlag.nodev | MountFlag.noexec, `mode=1777,size=${this.config.container.shmSize}${root === undefined ? '' : `,uid=${root.uid},gid=${root.gid}`}`);
    }
  }

  /** Ends what is mounted: the sandbox has stopped, its files can still be looked at. */
  async unmount(sandboxId: string): Promise<void> {
    const directory = this.layout.sandboxState(sandboxId);
    if (!existsSync(directory)) return;
    await removeMountPoint(this.layout.shm(sandboxId));
    await removeDirectory(directory);
  }

  async remove(sandboxId: string): Promise<void> {
    await this.unmount(sandboxId);
    await removeDirectory(this.layout.sandboxFiles(sandboxId));
  }
}

/** What root of a pod with a user namespace is on the node: its files belong to it, so that it may change them. */
function podRoot(config: PodSandboxConfig): { uid: number; gid: number } | undefined {
  const userns = podUserNamespace(config);
  return userns === undefined ? undefined : onNode(userns, ROOT_USER);
}
