import type { CallOptions } from '../call-options.js';

/** The namespaces service (containerd.services.namespaces.v1). */
export interface Namespaces {
  /** @throws ContainerdError ALREADY_EXISTS */
  create(name: string, labels?: Readonly<Record<string, string>>, options?: CallOptions): Promise<NamespaceRecord>;
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
