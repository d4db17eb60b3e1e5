import { status } from '@grpc/grpc-js';
import type { StoreService } from '../gen/services/sandbox/v1/sandbox.js';
import { now } from './clock.js';
import { alreadyExists, FakeStatus, notFound } from './fake-status.js';
import { mapField, parseFilters } from './filters.js';
import { storedLabels } from './labels.js';
import type { NamespaceState } from './namespace-state.js';
import type { Handlers } from './serve.js';

export function sandboxHandlers(stateOf: (namespace: string) => NamespaceState): Handlers<typeof StoreService> {
  const find = (namespace: string, id: string) => {
    const sandbox = stateOf(namespace).sandboxes.get(id);
    if (sandbox === undefined) throw notFound(`sandbox ${JSON.stringify(id)}`);
    return sandbox;
  };
  return {
    create({ sandbox }, { namespace }) {
      const { sandboxes } = stateOf(namespace);
      if (sandbox === undefined || !/^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/.test(sandbox.sandboxId)) {
        throw new FakeStatus(status.INVALID_ARGUMENT, `invalid sandbox ID ${JSON.stringify(sandbox?.sandboxId)}`);
      }
      if (sandboxes.has(sandbox.sandboxId)) throw alreadyExists(`sandbox ${JSON.stringify(sandbox.sandboxId)}`);
      const stored = { ...sandbox, labels: storedLabels(sandbox.labels), createdAt: now(), updatedAt: now() };
      sandboxes.set(stored.sandboxId, stored);
      return { sandbox: stored };
    },
    update() {
      throw new FakeStatus(status.UNIMPLEMENTED, 'sandboxes.update');
    },
    delete({ sandboxId }, { namespace }) {
      find(namespace, sandboxId);
      stateOf(namespace).sandboxes.delete(sandboxId);
      return {};
    },
    list({ filters }, { namespace }) {
      const matches = parseFilters(filters);
      const sandboxes = [...stateOf(namespace).sandboxes.values()];
      return {
        list: sandboxes.filter(({ sandboxId, labels }) =>
          matches(([field, ...rest]) => (field === 'id' ? sandboxId : field === 'labels' ? mapField(rest, labels) : undefined)),
        ),
      };
    },
    get: ({ sandboxId }, { namespace }) => ({ sandbox: find(namespace, sandboxId) }),
  };
}
