import { Cni, loadConfigLists, type NetworkConfigList } from '@criquet/network-cni';
import { connectContainerd, type Containerd } from '@criquet/runtime-containerd';
import type { Replacements } from '../composition-root.js';
import type { CriquetConfig } from '../config/index.js';
import { isServed } from '../grpc/cri-server.js';
import { ignoreNotFound } from '../runtime/already-gone.js';
import { discardTask } from '../runtime/reach-task.js';
import { Layout } from '../state/layout.js';
import { Audit, type AuditReport } from './audit.js';
import { takeCleaningLock } from './cleaning-lock.js';
import { holdingSources } from './holding-sources.js';
import { KnownContainerd } from './known-containerd.js';
import { OwnerLookup } from './owner-lookup.js';
import { RunningDaemon } from './running-daemon.js';

export interface AuditNodeOptions {
  readonly config: CriquetConfig;
  /** Whether what has no owner is removed. */
  readonly clean: boolean;
  /** With `clean`: what belongs to a containerd that was there before is cleaned by what this one knows. Default false. */
  readonly newContainerd?: boolean;
  readonly signal: AbortSignal;
  /** In tests only. */
  readonly replacements?: Pick<Replacements, 'nodeRoots' | 'pluginRunner'>;
}

/** What was found, and the pid of the daemon that was running; absent for none. */
export interface NodeAudit extends AuditReport {
  readonly daemonPid?: number;
  /** The records are in a containerd with another UUID; by this one everything is without an owner. */
  readonly anotherContainerd?: boolean;
}

/**
 * Looks at everything on this node that belongs to the criquet of a configuration, with or without its daemon running.
 *
 * @throws ContainerdError when containerd does not answer; Error when somebody else cleans at the moment, a daemon serves that is not seen from here or works with
 * another containerd, or `clean` would go by another containerd than before
 */
export async function auditNode({ config, clean, newContainerd = false, signal, replacements = {} }: AuditNodeOptions): Promise<NodeAudit> {
  const { address, namespace, connectTimeout } = config.containerd;
  const containerd = connectContainerd({ address, namespace, defaultTimeoutMs: config.containerd.callTimeout });
  const daemon = new RunningDaemon(config);
  try {
    await containerd.version.get({ signal, timeoutMs: connectTimeout });
    const networks = await configuredNetworks(config);
    const sources = holdingSources({
      config,
      containerd,
      layout: Layout.of(config),
      cni: new Cni({
        binDirs: config.cni.binDirs,
        cacheDir: config.cni.cacheDir,
        ...(replacements.pluginRunner === undefined ? {} : { runner: replacements.pluginRunner }),
      }),
      networks: () => networks,
      roots: replacements.nodeRoots ?? { proc: '/proc', sys: '/sys' },
      daemonHoldings: (limit) => daemon.holdings(limit),
      removeContainer: async (id, limit) => {
        await daemon.remove(id, limit);
        // It may not know of the record either.
        await removeRecord(containerd, id, limit);
      },
      forget: (id, limit) => daemon.remove(id, limit),
    });
    const audit = new Audit({ sources, owners: new OwnerLookup(containerd), daemon: () => daemon.identity() });
    const running = await daemon.identity();
    // What it works with would look as if it were of a daemon that was killed.
    if (running === undefined && (await isServed(config.listen.replace(/^unix:\/\//, '')))) {
      throw new Error(`a daemon serves ${config.listen} and is not seen from here: look in its mount and PID namespaces, with its configuration`);
    }
    const { uuid } = await containerd.introspection.server({ signal });
    const another = await isAnother(uuid, config, daemon, signal);
    if (another && clean && !newContainerd) {
      throw new Error(
        `what is below root_dir ${config.rootDir} has its records in another containerd than the one at ${address}: all of it would be removed. Only if that one is gone for good: --clean --new-containerd`,
      );
    }
    const report = await cleaning(config, clean, async () => {
      const result = await audit.run({ clean, signal });
      // Somebody has looked, and wants what is left to belong to this one.
      if (clean) await new KnownContainerd(config.rootDir).become(uuid);
      return result;
    });
    return { ...report, ...(running === undefined ? {} : { daemonPid: running.pid }), ...(another ? { anotherContainerd: true } : {}) };
  } finally {
    daemon.close();
    containerd.close();
  }
}

/** Whether a containerd is not the one that has the records. @throws Error when the daemon works with another one than this */
async function isAnother(uuid: string, { rootDir, containerd: { address } }: CriquetConfig, daemon: RunningDaemon, signal: AbortSignal): Promise<boolean> {
  const ofDaemon = await daemon.containerd(signal);
  if (ofDaemon !== undefined && ofDaemon !== uuid) {
    throw new Error(`the running daemon works with another containerd than the one at ${address}: look with the daemon's own configuration and flags`);
  }
  const known = await new KnownContainerd(rootDir).uuid();
  return known !== undefined && known !== uuid;
}

async function cleaning<T>({ stateDir }: CriquetConfig, clean: boolean, work: () => Promise<T>): Promise<T> {
  if (!clean) return work();
  const lock = await takeCleaningLock(stateDir);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** What else the container had has no owner then, and is found as such. */
async function removeRecord(containerd: Containerd, id: string, signal: AbortSignal): Promise<void> {
  await discardTask(containerd, id, { signal });
  await containerd.containers.delete(id, { signal }).catch(ignoreNotFound);
}

/** Of the node and of every handler; a directory that holds nothing usable names no network. */
async function configuredNetworks({ cni, runtime: { handlers } }: CriquetConfig): Promise<NetworkConfigList[]> {
  const own = Object.values(handlers).filter(({ cniConfDir }) => cniConfDir !== '');
  const directories = [...own.map((handler) => [handler.cniConfDir, handler.cniMaxConfNum] as const), [cni.confDir, cni.maxConfNum] as const];
  const lists = await Promise.all(directories.map(([directory, most]) => loadConfigLists(directory, most).catch(() => [])));
  return [...new Map(lists.flat().map((list) => [list.name, list])).values()];
}
