import { readFile, rm, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { NetworkConfigList } from '@criquet/network-cni';
import { DaemonLock } from '../../runtime/daemon-lock.js';
import { pathExists } from '../../runtime/path-exists.js';
import { isObjectId } from '../../state/object-id.js';
import type { AuditedNode } from '../audited-node.js';
import { attachmentsOnNode, isOwnAttachment } from '../cni-claims.js';
import type { Holding, HoldingSource } from '../holding.js';
import { runtimeStateIds } from '../runtime-states.js';
import { namesIn } from './object-directories.js';

/** host-local's `dataDir` unless its configuration names one (plugins/ipam/host-local of containernetworking/plugins). */
const DEFAULT_DATA_DIR = '/var/lib/cni/networks';

/** An address that host-local has given away. */
export interface Reservation {
  readonly list: NetworkConfigList;
  readonly file: string;
  readonly containerId: string;
  readonly ifName: string;
}

/**
 * host-local's reservations on the networks that are configured or that criquet's attachments name. What an attachment in a cache of the node or an
 * OCI runtime still knows is somebody's, and so is everything where CNI GC is turned off. They are freed by DEL, so that the plugin does it under its own lock.
 *
 * One in which nothing stands is nobody's, and no DEL finds it: power failed before the disk had it, or the plugin was killed between making and writing it.
 */
export function reservationHoldings(node: AuditedNode): HoldingSource {
  const { cni, config } = node;
  return {
    kind: 'ipam-reservation',
    async list() {
      const [attachments, states] = await Promise.all([attachmentsOnNode(node), runtimeStateIds(config)]);
      const attached = new Set(attachments.map(({ networkName, attachment }) => `${networkName} ${attachment.containerId}`));
      const ours = attachments.filter((cached) => isOwnAttachment(cached, node)).flatMap(({ list }) => list ?? []);
      const lists = [...ours, ...node.networks()];
      const [reservations, unwritten] = await Promise.all([readReservations(lists), unwrittenReservations(lists.filter(isCollected))]);
      const made = reservations.map((reservation): Holding => {
        const { list, containerId, file } = reservation;
        const certain = isCollected(list) && !attached.has(`${list.name} ${containerId}`) && !states.has(containerId);
        return { kind: 'ipam-reservation', name: file, owner: { object: containerId }, certain, remove: (signal) => free(reservation, signal) };
      });
      return [...made, ...unwritten.map((file): Holding => ({ kind: 'ipam-reservation', name: file, owner: { nobody: true }, certain: true, remove: () => removeUnwritten(file) }))];
    },
  };

  function isCollected({ disableGC }: NetworkConfigList): boolean {
    return config.cni.gcInterval > 0 && !disableGC;
  }

  async function free({ list, containerId, ifName, file }: Reservation, signal: AbortSignal): Promise<void> {
    if (!(await pathExists(file))) return;
    await cni.del(list, { containerId, netns: '', ifName, args: [], capabilityArgs: {} }, { timeoutMs: config.cni.delTimeout, signal });
    if (await pathExists(file)) throw new Error(`${file} is still there after a DEL of network ${list.name}`);
  }
}

/** Those whose container id has the form of criquet's; of lists of one name the last counts. */
export async function readReservations(lists: readonly NetworkConfigList[]): Promise<Reservation[]> {
  return inDataDirs(lists, readDirectory);
}

/** Files of addresses in which nothing stands. */
async function unwrittenReservations(lists: readonly NetworkConfigList[]): Promise<string[]> {
  return inDataDirs(lists, async (_, directory) => {
    const addresses = (await namesIn(directory)).filter((name) => isIP(name) !== 0).map((name) => join(directory, name));
    const empty = await Promise.all(addresses.map(isEmpty));
    return addresses.filter((__, index) => empty[index]);
  });
}

/** Under host-local's own lock: it writes what it makes before it lets go of that. */
async function removeUnwritten(file: string): Promise<void> {
  const lock = await DaemonLock.take(join(dirname(file), 'lock'), `${basename(file)}: host-local is at work`);
  try {
    if (await isEmpty(file)) await rm(file);
  } finally {
    await lock.release();
  }
}

function isEmpty(file: string): Promise<boolean> {
  return stat(file).then(({ size }) => size === 0, () => false);
}

async function inDataDirs<T>(lists: readonly NetworkConfigList[], look: (list: NetworkConfigList, directory: string) => Promise<T[]>): Promise<T[]> {
  const named = new Map(lists.map((list) => [list.name, list]));
  const found = await Promise.all([...named.values()].flatMap((list) => dataDirs(list).map((directory) => look(list, directory))));
  return found.flat();
}

function dataDirs({ name, plugins }: NetworkConfigList): string[] {
  const dirs = plugins.flatMap(({ raw: { ipam } }) => {
    if (typeof ipam !== 'object' || ipam === null) return [];
    const { type, dataDir } = ipam as { readonly type?: unknown; readonly dataDir?: unknown };
    if (type !== 'host-local') return [];
    return [join(typeof dataDir === 'string' && dataDir !== '' ? dataDir : DEFAULT_DATA_DIR, name)];
  });
  return [...new Set(dirs)];
}

/** A file an address: the container's id and, in the next line, its interface. */
async function readDirectory(list: NetworkConfigList, directory: string): Promise<Reservation[]> {
  const files = (await namesIn(directory)).filter((name) => name !== 'lock' && !name.startsWith('last_reserved_ip')).map((name) => join(directory, name));
  const read = await Promise.all(
    files.map(async (file): Promise<Reservation[]> => {
      const [containerId = '', ifName = 'eth0'] = (await readFile(file, 'utf8').catch(() => '')).trim().split(/\r?\n/);
      return isObjectId(containerId) ? [{ list, file, containerId, ifName }] : [];
    }),
  );
  return read.flat();
}
