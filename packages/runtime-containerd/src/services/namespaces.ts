import type { CallOptions } from '../call-options.js';
import { Namespace, NamespacesService } from '../gen/services/namespaces/v1/namespace.js';
import type { Channel } from '../grpc/channel.js';

/** The namespaces service (containerd.services.namespaces.v1). */
export interface Namespaces {
  /** @throws ContainerdError ALREADY_EXISTS */
  create(name: string, labels?: Readonly<Record<string, string>>, options?: CallOptions): Promise<NamespaceRecord>;
  /** One that does not exist is answered with no labels; `list` tells. */
  get(name: string, options?: CallOptions): Promise<NamespaceRecord>;
  list(options?: CallOptions): Promise<NamespaceRecord[]>;
  /** Replaces all labels, or only those named by `fields` (`labels.KEY`). */
  update(
    name: string,
    labels: Readonly<Record<string, string>>,
    fields?: readonly string[],
    options?: CallOptions,
  ): Promise<NamespaceRecord>;
  /** @throws ContainerdError FAILED_PRECONDITION while it holds anything */
  delete(name: string, options?: CallOptions): Promise<void>;
}

export interface NamespaceRecord {
  readonly name: string;
  readonly labels: Record<string, string>;
}

export function namespacesService(channel: Channel): Namespaces {
  return {
    async create(name, labels = {}, options) {
      return record(await channel.unary(NamespacesService.create, { namespace: { name, labels } }, options));
    },
    async get(name, options) {
      return record(await channel.unary(NamespacesService.get, { name }, options));
    },
    async list(options) {
      const { namespaces } = await channel.unary(NamespacesService.list, { filter: '' }, options);
      return namespaces.map((namespace) => record({ namespace }));
    },
    async update(name, labels, fields = [], options) {
      const updateMask = fields.length === 0 ? undefined : [...fields];
      return record(await channel.unary(NamespacesService.update, { namespace: { name, labels }, updateMask }, options));
    },
    async delete(name, options) {
      await channel.unary(NamespacesService.delete, { name }, options);
    },
  };
}

function record(reply: { namespace: Namespace | undefined }): NamespaceRecord {
  const { name, labels } = reply.namespace ?? Namespace.fromPartial({});
  return { name, labels };
}
