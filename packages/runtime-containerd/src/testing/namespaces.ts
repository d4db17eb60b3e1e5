import type { NamespacesService } from '../gen/services/namespaces/v1/namespace.js';
import { alreadyExists, failedPrecondition, notFound } from './fake-status.js';
import { maskedLabels, storedLabels } from './labels.js';
import { NamespaceState } from './namespace-state.js';
import type { Handlers } from './serve.js';

export function namespaceHandlers(states: Map<string, NamespaceState>): Handlers<typeof NamespacesService> {
  const find = (name: string): NamespaceState => {
    const state = states.get(name);
    if (state === undefined) throw notFound(`namespace ${JSON.stringify(name)}`);
    return state;
  };
  const record = ({ name, labels }: NamespaceState) => ({ namespace: { name, labels } });
  return {
    // As containerd: one that does not exist has no labels.
    get: ({ name }) => record(states.get(name) ?? new NamespaceState(name)),
    list: () => ({ namespaces: [...states.values()].map(({ name, labels }) => ({ name, labels })) }),
    create({ namespace }) {
      const { name = '', labels = {} } = namespace ?? {};
      if (states.has(name)) throw alreadyExists(`namespace ${JSON.stringify(name)}`);
      const state = new NamespaceState(name);
      state.labels = storedLabels(labels);
      states.set(name, state);
      return record(state);
    },
    update({ namespace, updateMask = [] }) {
      const state = find(namespace?.name ?? '');
      const mask = updateMask.length === 0 ? ['labels'] : updateMask;
      state.labels = maskedLabels(state.labels, namespace?.labels ?? {}, mask) ?? state.labels;
      return record(state);
    },
    delete({ name }) {
      const state = find(name);
      if (state.containers.size + state.images.size + state.blobs.size > 0) throw failedPrecondition(`namespace ${JSON.stringify(name)} must be empty`);
      states.delete(name);
      return {};
    },
  };
}
