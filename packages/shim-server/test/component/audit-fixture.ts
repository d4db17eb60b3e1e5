import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connectCri } from '@criquet/cri-api';
import type { Test } from 'tap';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';
import { attaching, type FakePlugin, type FakePluginCall } from '@criquet/network-cni/testing';
import { connectContainerd, mkfifo, type Containerd } from '@criquet/runtime-containerd';
import { takeCleaningLock } from '../../src/audit/cleaning-lock.js';
import { auditNode, type AuditedHolding, type NodeAudit } from '../../src/audit/index.js';
import { mount } from '../../src/runtime/mount.js';
import { containerCodec } from '../../src/state/container-record.js';
import { Layout } from '../../src/state/layout.js';

export const newId = (): string => randomBytes(32).toString('hex');

/** A shim whose network reserves addresses as host-local does, in files that only a DEL of the plugin removes. */
export async function startShim(options: Parameters<typeof Shim.start>[0] = {}): Promise<Shim> {
  const attach = attaching('10.1.0.7/24');
  const net: FakePlugin = async (call) => {
    if (call.command === 'ADD') await reserve(call);
    if (call.command === 'DEL') await rm(reservationOf(call), { force: true });
    return attach(call);
  };
  const shim = await Shim.start({
    ...options,
    plugins: { net, ...options.plugins },
    network: false,
    change: (config) => (options.change ?? ((same) => same))({ ...config, cni: { ...config.cni, netnsDir: '' } }),
  });
  await shim.writeNetwork([{ type: 'net', ipam: { type: 'host-local', dataDir: join(shim.dir, 'ipam') } }]);
  await cleanedUp(shim);
  return shim;
}

/** What is planted before would go with what the daemon removes after its start. */
async function cleanedUp(shim: Shim): Promise<void> {
  await eventually(async () => {
    if (!shim.logLines.some((line) => line.includes('"looked for what has no owner"'))) throw new Error('the daemon still cleans up after its start');
    // With CNI GC, which comes next.
    await (await takeCleaningLock(shim.config.stateDir)).release();
  }, 20_000);
}

/** Addresses are named after their container here. */
function reservationOf({ config, containerId }: Pick<FakePluginCall, 'config' | 'containerId'>): string {
  const { dataDir } = config['ipam'] as { dataDir: string };
  return join(dataDir, String(config['name']), containerId.slice(0, 8));
}

async function reserve(call: FakePluginCall): Promise<void> {
  await written(reservationOf(call), `${call.containerId}\r\n${call.ifName}`);
}

export async function written(path: string, text = ''): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

/** Waits until the daemon has cleaned up after its start. */
export async function audit(shim: Shim, clean = false, newContainerd = false): Promise<NodeAudit> {
  for (const late = Date.now() + 10_000; ; await pause(50)) {
    try {
      return await auditOnce(shim, clean, newContainerd);
    } catch (error) {
      if (!(error as Error).message.endsWith('somebody else is cleaning up at the moment') || Date.now() > late) throw error;
    }
  }
}

const auditOnce = (shim: Shim, clean: boolean, newContainerd: boolean): Promise<NodeAudit> =>
  auditNode({
    config: shim.config,
    clean,
    newContainerd,
    signal: AbortSignal.timeout(60_000),
    replacements: { nodeRoots: { proc: '/proc', sys: join(shim.dir, 'sys') }, pluginRunner: shim.plugins },
  });

export function named(holdings: readonly AuditedHolding[], ...states: AuditedHolding['state'][]): string[] {
  return holdings.filter(({ state }) => states.includes(state)).map(({ kind, name }) => `${kind} ${name}`).sort();
}

export const orphans = ({ holdings }: NodeAudit): string[] => named(holdings, 'orphan', 'failed');

/** Things as a criquet leaves them that was killed, or whose records somebody removed. */
export class Planter {
  private readonly processes: ChildProcess[] = [];
  private readonly clients: Containerd[] = [];
  private readonly readers: FileHandle[] = [];
  readonly layout: Layout;

  constructor(readonly shim: Shim) {
    this.layout = Layout.of(shim.config);
  }

  client(namespace = NAMESPACE): Containerd {
    const client = connectContainerd({ address: this.shim.containerd.address, namespace });
    this.clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    for (const process of this.processes) process.kill('SIGKILL');
    for (const client of this.clients) client.close();
    for (const reader of this.readers) await reader.close();
  }

  /** A cgroup without processes, or with a process of somebody's. */
  async cgroup(path: string, pid?: number): Promise<string> {
    const root = join(this.shim.dir, 'sys/fs/cgroup');
    await written(join(root, 'cgroup.controllers'));
    await mkdir(join(root, path), { recursive: true });
    if (pid !== undefined) await writeFile(join(root, path, 'cgroup.procs'), `${pid}\n`);
    return join(root, path);
  }

  async reservation(id: string, network = 'test'): Promise<string> {
    return written(join(this.shim.dir, 'ipam', network, id.slice(0, 8)), `${id}\r\neth0`);
  }

  /** The file of an address in which nothing stands. */
  async unwrittenReservation(network = 'test'): Promise<string> {
    return written(join(this.shim.dir, 'ipam', network, '10.1.0.99'), '');
  }

  async cacheEntry(id: string, netns: string, network = 'test'): Promise<string> {
    const config = await readFile(join(this.shim.config.cni.confDir, '10-test.conflist'), 'utf8');
    const entry = { kind: 'cniCacheV1', containerId: id, config: Buffer.from(config).toString('base64'), ifName: 'eth0', networkName: network, netns };
    return written(join(this.shim.config.cni.cacheDir, 'results', `${network}-${id}-eth0`), JSON.stringify(entry));
  }

  async mounted(path: string): Promise<string> {
    await mkdir(path, { recursive: true });
    mount('tmpfs', path, 'tmpfs', 0, '');
    return path;
  }

  /** A process with the command line of a shim; it does nothing. */
  async shimProcess(id: string, { address = this.shim.config.containerd.address, namespace = NAMESPACE } = {}): Promise<number> {
    const args = ['-c', 'read line', 'shim', '-namespace', namespace, '-address', address, '-id', id];
    const child = spawn('/bin/sh', args, { argv0: '/usr/bin/containerd-shim-runc-v2', stdio: ['pipe', 'ignore', 'ignore'] });
    this.processes.push(child);
    await new Promise<void>((resolve) => child.once('spawn', resolve));
    return child.pid ?? 0;
  }

  /** The record of a container whose sandbox is gone. */
  async containerOfNoSandbox(like: string): Promise<string> {
    const { containers } = this.client();
    const { spec, ...record } = await containers.get(like);
    const extension = record.extensions[containerCodec.key];
    if (spec === undefined || extension === undefined) throw new Error('no container of criquet');
    const id = newId();
    const changed = { ...containerCodec.decode(extension), id, sandboxId: newId(), name: `lost_${id}`, phase: 'exited' as const };
    await containers.create({ ...record, spec, id, snapshotKey: id, extensions: { [containerCodec.key]: containerCodec.encode(changed) } });
    return id;
  }

  /** A task that runs on FIFOs of criquet's, and whose record is gone. */
  async taskWithoutRecord(like: string, stateDir = this.shim.config.stateDir): Promise<string> {
    const { containers, tasks } = this.client();
    const { spec, ...record } = await containers.get(like);
    if (spec === undefined) throw new Error('no spec');
    const id = newId();
    const [stdout, stderr] = ['stdout', 'stderr'].map((name) => join(stateDir, 'io', id, name)) as [string, string];
    await mkdir(dirname(stdout), { recursive: true });
    for (const path of [stdout, stderr]) {
      mkfifo(path, 0o600);
      // A shim waits for a reader.
      this.readers.push(await open(path, constants.O_RDONLY | constants.O_NONBLOCK));
    }
    await containers.create({ ...record, spec, id, snapshotter: '', snapshotKey: '', labels: {}, extensions: {} });
    await tasks.create({ containerId: id, rootfs: [], stdin: '', stdout, stderr, terminal: false });
    this.shim.containerd.state(NAMESPACE).containers.delete(id);
    return id;
  }

  /** Somebody's container in a namespace. */
  async foreignContainer(namespace: string, like: string, id = newId()): Promise<string> {
    const { spec, ...record } = await this.client().containers.get(like);
    if (spec === undefined) throw new Error('no spec');
    await this.client(namespace).containers.create({ ...record, spec, id, snapshotter: '', snapshotKey: '', labels: {}, extensions: {} });
    return id;
  }
}

export function exists(path: string): Promise<boolean> {
  return stat(path).then(() => true, () => false);
}

export function connectDirectly(shim: Shim): ReturnType<typeof connectCri> {
  return connectCri({ endpoint: shim.config.listen });
}

/** A shim whose network is ready, and what plants on its node; both end with the test. */
export async function started(t: Test, options: Parameters<typeof startShim>[0] = {}): Promise<{ shim: Shim; planter: Planter }> {
  const shim = await startShim(options);
  const planter = new Planter(shim);
  t.teardown(async () => {
    await planter.close();
    await shim.close();
  });
  await eventually(async () => {
    const { status } = await shim.cri.runtime.status({});
    if (status?.conditions.some(({ type, status: holds }) => type === 'NetworkReady' && !holds)) throw new Error('no network yet');
  });
  return { shim, planter };
}
