import { cpSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Kind, type Info, type SnapshotsService } from '../gen/services/snapshots/v1/snapshots.js';
import type { Mount } from '../gen/types/mount.js';
import { now } from './clock.js';
import { alreadyExists, failedPrecondition, invalidArgument, notFound } from './fake-status.js';
import { mapField, parseFilters, type Fields } from './filters.js';
import { maskedLabels, storedLabels } from './labels.js';
import type { NamespaceState, Snapshot } from './namespace-state.js';
import type { Handlers } from './serve.js';

const kindNames: Readonly<Record<number, string>> = { [Kind.ACTIVE]: 'active', [Kind.VIEW]: 'view', [Kind.COMMITTED]: 'committed' };

/** Snapshots as plain directories, each a full copy of its parent, as containerd's native snapshotter makes them. */
export class SnapshotStore {
  private counter = 0;

  constructor(
    private readonly dir: string,
    private readonly knownSnapshotters: () => readonly string[],
  ) {}

  create(state: NamespaceState, lease: string, snapshotter: string, kind: Kind, key: string, parent: string, labels: Record<string, string>): Snapshot {
    state.checkLease(lease);
    const all = this.of(state, snapshotter);
    if (all.has(key)) throw alreadyExists(`snapshot ${JSON.stringify(key)}`);
    const parentSnapshot = parent === '' ? undefined : this.find(state, snapshotter, parent);
    if (parentSnapshot !== undefined && parentSnapshot.info.kind !== Kind.COMMITTED) throw invalidArgument(`parent snapshot ${parent} is not committed`);
    const dir = join(this.dir, String(++this.counter));
    mkdirSync(dir, { recursive: true });
    if (parentSnapshot !== undefined) cpSync(parentSnapshot.dir, dir, { recursive: true, verbatimSymlinks: true });
    const time = now();
    const info: Info = { name: key, parent, kind, createdAt: time, updatedAt: time, labels: storedLabels(labels) };
    const snapshot = { info, dir };
    all.set(key, snapshot);
    state.hold(lease, { id: key, type: `snapshots/${snapshotter}` });
    return snapshot;
  }

  commit(state: NamespaceState, lease: string, snapshotter: string, name: string, key: string, labels: Record<string, string>): void {
    state.checkLease(lease);
    const all = this.of(state, snapshotter);
    const active = this.find(state, snapshotter, key);
    if (active.info.kind !== Kind.ACTIVE) throw failedPrecondition(`snapshot ${JSON.stringify(key)} is not active`);
    if (all.has(name)) throw alreadyExists(`snapshot ${JSON.stringify(name)}`);
    all.delete(key);
    state.release(lease, { id: key, type: `snapshots/${snapshotter}` });
    all.set(name, { dir: active.dir, info: { ...active.info, name, kind: Kind.COMMITTED, updatedAt: now(), labels: storedLabels(labels) } });
    state.hold(lease, { id: name, type: `snapshots/${snapshotter}` });
  }

  find(state: NamespaceState, snapshotter: string, key: string): Snapshot {
    const snapshot = this.of(state, snapshotter).get(key);
    if (snapshot === undefined) throw notFound(`snapshot ${JSON.stringify(key)}`);
    return snapshot;
  }

  of(state: NamespaceState, snapshotter: string): Map<string, Snapshot> {
    if (!this.knownSnapshotters().includes(snapshotter)) throw invalidArgument(`snapshotter not loaded: ${snapshotter}`);
    return state.snapshotsOf(snapshotter);
  }
}

export function snapshotHandlers(stateOf: (namespace: string) => NamespaceState, store: SnapshotStore): Handlers<typeof SnapshotsService> {
  return {
    prepare({ snapshotter, key, parent, labels }, { namespace, lease }) {
      return { mounts: mounts(store.create(stateOf(namespace), lease, snapshotter, Kind.ACTIVE, key, parent, labels)) };
    },
    view({ snapshotter, key, parent, labels }, { namespace, lease }) {
      return { mounts: mounts(store.create(stateOf(namespace), lease, snapshotter, Kind.VIEW, key, parent, labels)) };
    },
    mounts: ({ snapshotter, key }, { namespace }) => ({ mounts: mounts(store.find(stateOf(namespace), snapshotter, key)) }),
    commit({ snapshotter, name, key, labels }, { namespace, lease }) {
      store.commit(stateOf(namespace), lease, snapshotter, name, key, labels);
      return {};
    },
    remove({ snapshotter, key }, { namespace, lease }) {
      const state = stateOf(namespace);
      const all = store.of(state, snapshotter);
      const { dir } = store.find(state, snapshotter, key);
      if ([...all.values()].some(({ info }) => info.parent === key)) throw failedPrecondition('cannot remove snapshot with child');
      all.delete(key);
      state.release(lease, { id: key, type: `snapshots/${snapshotter}` });
      rmSync(dir, { recursive: true, force: true });
      return {};
    },
    stat: ({ snapshotter, key }, { namespace }) => ({ info: store.find(stateOf(namespace), snapshotter, key).info }),
    update({ snapshotter, info, updateMask = [] }, { namespace }) {
      const snapshot = store.find(stateOf(namespace), snapshotter, info?.name ?? '');
      const mask = updateMask.length === 0 ? ['labels'] : updateMask;
      const labels = maskedLabels(snapshot.info.labels, info?.labels ?? {}, mask) ?? snapshot.info.labels;
      snapshot.info = { ...snapshot.info, labels, updatedAt: now() };
      return { info: snapshot.info };
    },
    async *list({ snapshotter, filters }, { namespace }) {
      const matches = parseFilters(filters);
      const infos = [...store.of(stateOf(namespace), snapshotter).values()].map(({ info }) => info);
      yield { info: infos.filter((info) => matches(snapshotFields(info))) };
    },
    usage: ({ snapshotter, key }, { namespace }) => usage(store.find(stateOf(namespace), snapshotter, key).dir),
    cleanup({ snapshotter }, { namespace }) {
      store.of(stateOf(namespace), snapshotter);
      return {};
    },
  };
}

function mounts({ dir, info }: Snapshot): Mount[] {
  if (info.kind === Kind.COMMITTED) throw invalidArgument(`snapshot ${info.name} is committed`);
  return [{ type: 'bind', source: dir, target: '', options: ['rbind', info.kind === Kind.VIEW ? 'ro' : 'rw'] }];
}

function usage(dir: string): { size: bigint; inodes: bigint } {
  let size = 0;
  let inodes = 1;
  for (const path of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    const stat = lstatSync(join(dir, path));
    inodes++;
    if (stat.isFile()) size += stat.size;
  }
  return { size: BigInt(size), inodes: BigInt(inodes) };
}

function snapshotFields({ name, parent, kind, labels }: Info): Fields {
  return ([field, ...rest]) => {
    if (field === 'name') return name;
    if (field === 'parent') return parent;
    if (field === 'kind') return kindNames[kind];
    return field === 'labels' ? mapField(rest, labels) : undefined;
  };
}
