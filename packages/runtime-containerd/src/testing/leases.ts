import { randomUUID } from 'node:crypto';
import type { LeasesService } from '../gen/services/leases/v1/leases.js';
import { now } from './clock.js';
import { alreadyExists, notFound } from './fake-status.js';
import { mapField, parseFilters } from './filters.js';
import { storedLabels } from './labels.js';
import type { LeaseState, NamespaceState } from './namespace-state.js';
import type { Handlers } from './serve.js';

export function leaseHandlers(
  stateOf: (namespace: string) => NamespaceState,
  collect: (state: NamespaceState) => void,
): Handlers<typeof LeasesService> {
  const find = (state: NamespaceState, id: string): LeaseState => {
    const lease = state.leases.get(id);
    if (lease === undefined) throw notFound(`lease ${JSON.stringify(id)}`);
    return lease;
  };
  return {
    create({ id, labels }, { namespace }) {
      const state = stateOf(namespace);
      if (state.leases.has(id)) throw alreadyExists(`lease ${JSON.stringify(id)}`);
      const lease = { id: id || randomUUID(), labels: storedLabels(labels), createdAt: now() };
      state.leases.set(lease.id, { lease, resources: [] });
      return { lease };
    },
    delete({ id }, { namespace }) {
      const state = stateOf(namespace);
      find(state, id);
      state.leases.delete(id);
      collect(state);
      return {};
    },
    list({ filters }, { namespace }) {
      const matches = parseFilters(filters);
      const leases = [...stateOf(namespace).leases.values()].map(({ lease }) => lease);
      return {
        leases: leases.filter(({ id, labels }) =>
          matches(([field, ...rest]) => (field === 'id' ? id : field === 'labels' ? mapField(rest, labels) : undefined)),
        ),
      };
    },
    addResource({ id, resource }, { namespace }) {
      const state = stateOf(namespace);
      find(state, id);
      if (resource !== undefined) state.hold(id, resource);
      return {};
    },
    deleteResource({ id, resource }, { namespace }) {
      const state = stateOf(namespace);
      find(state, id);
      if (resource !== undefined) state.release(id, resource);
      return {};
    },
    listResources: ({ id }, { namespace }) => ({ resources: find(stateOf(namespace), id).resources }),
  };
}
