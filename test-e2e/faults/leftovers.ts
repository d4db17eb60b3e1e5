import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { connectContainerd, type Containerd } from '@criquet/runtime-containerd';
import type { TestNode } from '../harness/node.js';
import { run } from '../harness/run.js';

/** In real containerd this keeps what nothing refers to from garbage collection, which would take an orphan before anybody looks. */
const GC_ROOT = { 'containerd.io/gc.root': 'test' };

export const newId = (): string => randomBytes(32).toString('hex');

/** Puts things on a node that look as if criquet had left them, or somebody else. */
export class Leftovers {
  private readonly processes: ChildProcess[] = [];
  private readonly clients: Containerd[] = [];
  private readonly cgroups: string[] = [];

  constructor(private readonly node: TestNode) {}

  containerd(namespace = 'k8s.io'): Containerd {
    const client = connectContainerd({ address: this.node.containerd.paths.socket, namespace });
    this.clients.push(client);
    return client;
  }

  get stateDir(): string {
    return this.node.criquet?.stateDir ?? '';
  }

  get rootDir(): string {
    return this.node.criquet?.rootDir ?? '';
  }

  /** Ends what was planted and is still there. */
  async close(): Promise<void> {
    for (const process of this.processes) process.kill('SIGKILL');
    for (const client of this.clients) client.close();
    for (const cgroup of this.cgroups) await rmdir(cgroup).catch(() => undefined);
  }

  async directory(...path: string[]): Promise<string> {
    const directory = join(...path);
    await mkdir(directory, { recursive: true });
    return directory;
  }

  async file(path: string, text = ''): Promise<string> {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    return path;
  }

  async mount(...path: string[]): Promise<string> {
    const directory = await this.directory(...path);
    await run('mount', ['-t', 'tmpfs', 'tmpfs', directory]);
    return directory;
  }

  /** Below the node's own cgroup, on cgroup v1 in one hierarchy. @returns its path within the hierarchy */
  async cgroup(id: string): Promise<string> {
    const unified = (await readdir('/sys/fs/cgroup')).includes('cgroup.controllers');
    const path = `/${this.node.podCgroup().replace(/^\//, '')}/${id}`;
    const cgroup = join('/sys/fs/cgroup', unified ? '' : 'pids', path);
    await mkdir(cgroup, { recursive: true });
    this.cgroups.push(cgroup);
    return path;
  }

  /** An address that nobody's pod has. */
  async reservation(id: string, last: number): Promise<string> {
    return this.file(join(this.node.network.reservations, this.node.network.subnet.replace(/0\/24$/, String(last))), `${id}\r\neth0`);
  }

  async snapshot(id: string, labels: Record<string, string>): Promise<string> {
    await this.containerd().snapshots.prepare('overlayfs', id, '', { labels: { ...labels, ...GC_ROOT } });
    return `overlayfs/${id}`;
  }

  async lease(id: string, ...labels: string[]): Promise<string> {
    await this.node.containerd.ctr('--namespace', 'k8s.io', 'leases', 'create', '--id', id, ...labels);
    return id;
  }

  /** A container of another client, without a task. */
  async foreignContainer(namespace: string, id = newId()): Promise<string> {
    await this.containerd(namespace).containers.create({ id, runtime: { name: 'io.containerd.runc.v2' }, spec: { typeUrl: 'types.containerd.io/opencontainers/runtime-spec/1/Spec', value: Buffer.from('{}') } });
    return id;
  }

  /** A process with the command line of a shim; it does nothing. */
  async shim(id: string, address = this.node.containerd.paths.socket): Promise<number> {
    const child = spawn('/bin/sh', ['-c', 'read line', 'shim', '-namespace', 'k8s.io', '-address', address, '-id', id], {
      argv0: 'containerd-shim-runc-v2',
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.processes.push(child);
    await new Promise<void>((resolve) => child.once('spawn', resolve));
    return child.pid ?? 0;
  }

  /** Removes what {@link foreignContainer}, {@link lease} and {@link snapshot} made for others. */
  async removeForeign(namespace: string, container: string, lease: string, snapshot: string): Promise<void> {
    await this.containerd(namespace).containers.delete(container);
    await this.containerd().leases.delete(lease);
    await this.containerd().snapshots.remove('overlayfs', snapshot);
  }
}

export function exists(path: string): Promise<boolean> {
  return stat(path).then(() => true, () => false);
}
