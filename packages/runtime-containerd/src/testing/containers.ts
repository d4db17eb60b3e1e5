import { ContainerCreate, ContainerDelete, ContainerUpdate } from '../gen/events/container.js';
import { Container, type ContainersService } from '../gen/services/containers/v1/containers.js';
import { now } from './clock.js';
import type { EventExchange } from './events.js';
import { alreadyExists, invalidArgument, notFound } from './fake-status.js';
import { mapField, parseFilters, type Fields } from './filters.js';
import { maskedLabels, otherPaths, storedLabels } from './labels.js';
import type { NamespaceState } from './namespace-state.js';
import type { Handlers } from './serve.js';

/** containerd's rule for ids (pkg/identifiers). */
const ID = /^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/;
const MAX_ID = 76;

export function containerHandlers(
  stateOf: (namespace: string) => NamespaceState,
  events: EventExchange,
  collect: (state: NamespaceState) => void,
): Handlers<typeof ContainersService> {
  const find = (state: NamespaceState, id: string): Container => {
    const container = state.containers.get(id);
    if (container === undefined) throw notFound(`container ${JSON.stringify(id)} in namespace ${JSON.stringify(state.name)}`);
    return container;
  };
  const select = (state: NamespaceState, filters: readonly string[]) => {
    const matches = parseFilters(filters);
    return [...state.containers.values()].filter((container) => matches(containerFields(container)));
  };
  return {
    get: ({ id }, { namespace }) => ({ container: find(stateOf(namespace), id) }),
    list: ({ filters }, { namespace }) => ({ containers: select(stateOf(namespace), filters) }),
    async *listStream({ filters }, { namespace }) {
      for (const container of select(stateOf(namespace), filters)) yield { container };
    },
    create({ container }, { namespace }) {
      const state = stateOf(namespace);
      const record = validated(container);
      if (state.containers.has(record.id)) throw alreadyExists(`container ${JSON.stringify(record.id)}`);
      const time = now();
      const stored = { ...record, labels: storedLabels(record.labels), createdAt: time, updatedAt: time };
      state.containers.set(record.id, stored);
      const runtime = { name: record.runtime?.name ?? '', options: record.runtime?.options };
      events.publish(namespace, '/containers/create', 'containerd.events.ContainerCreate', ContainerCreate, { id: record.id, image: record.image, runtime });
      return { container: stored };
    },
    update({ container, updateMask = [] }, { namespace }) {
      const state = stateOf(namespace);
      const given = container ?? Container.fromPartial({});
      const { id } = given;
      const current = find(state, id);
      const mask = updateMask.length === 0 ? ['labels', 'spec', 'extensions', 'image', 'snapshotkey'] : updateMask;
      const updated: Container = { ...current, updatedAt: now() };
      updated.labels = maskedLabels(current.labels, given.labels, mask) ?? current.labels;
      for (const path of otherPaths(mask, ['spec', 'extensions', 'image', 'snapshotkey'], id)) {
        if (path === 'spec') updated.spec = given.spec;
        else if (path === 'image') updated.image = given.image;
        else if (path === 'snapshotkey') updated.snapshotKey = given.snapshotKey;
        else if (path === 'extensions') updated.extensions = given.extensions;
        else {
          const name = path.slice('extensions.'.length);
          // One that is not given stays as an empty message.
          updated.extensions = { ...updated.extensions, [name]: given.extensions[name] ?? { typeUrl: '', value: Buffer.alloc(0) } };
        }
      }
      validated(updated);
      state.containers.set(id, updated);
      const { image, labels, snapshotKey } = updated;
      events.publish(namespace, '/containers/update', 'containerd.events.ContainerUpdate', ContainerUpdate, { id, image, labels, snapshotKey });
      return { container: updated };
    },
    delete({ id }, { namespace }) {
      const state = stateOf(namespace);
      find(state, id);
      state.containers.delete(id);
      events.publish(namespace, '/containers/delete', 'containerd.events.ContainerDelete', ContainerDelete, { id });
      collect(state);
      return {};
    },
  };
}

function validated(container: Container | undefined): Container {
  if (container === undefined) throw invalidArgument('no container');
  const { id, runtime, spec, snapshotKey, snapshotter } = container;
  if (id.length > MAX_ID || !ID.test(id)) throw invalidArgument(`container.ID: identifier ${JSON.stringify(id)} must match ${ID.source}`);
  if (!runtime?.name) throw invalidArgument('container.Runtime.Name must be set');
  if (spec === undefined) throw invalidArgument('container.Spec must be set');
  if (snapshotKey !== '' && snapshotter === '') throw invalidArgument('container.Snapshotter must be set when container.SnapshotKey is set');
  return container;
}

function containerFields({ id, image, labels, runtime }: Container): Fields {
  return ([field, ...rest]) => {
    if (field === 'id') return id || undefined;
    if (field === 'image') return image || undefined;
    if (field === 'runtime' && rest[0] === 'name') return runtime?.name || undefined;
    return field === 'labels' ? mapField(rest, labels) : undefined;
  };
}
