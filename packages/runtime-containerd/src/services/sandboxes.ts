import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';
import { StoreService } from '../gen/services/sandbox/v1/sandbox.js';
import type { Sandbox } from '../gen/types/sandbox.js';
import { fromWireAny, toWireAny } from '../grpc/any.js';
import type { Channel } from '../grpc/channel.js';
import { toNanos } from '../grpc/timestamp.js';

/**
 * The sandbox store (containerd.services.sandbox.v1.Store): records of what containers share, a Kubernetes pod for example.
 *
 * A container whose record names a sandbox that stands here joins the shim that runs under the sandbox's id: its task is created there without a run of the shim's
 * binary. A sandbox that is missing is no error, the binary is run then.
 */
export interface SandboxStore {
  /** @throws ContainerdError ALREADY_EXISTS */
  create(sandbox: NewSandbox, options?: CallOptions): Promise<void>;
  /** @throws ContainerdError NOT_FOUND */
  delete(id: string, options?: CallOptions): Promise<void>;
  /** Filters such as `id==x` or `labels."key"==value`; several are alternatives. */
  list(filters?: readonly string[], options?: CallOptions): Promise<SandboxInfo[]>;
}

export interface NewSandbox {
  readonly id: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly runtime: { readonly name: string; readonly options?: Any };
}

export interface SandboxInfo {
  readonly id: string;
  readonly labels: Record<string, string>;
  readonly runtime: { readonly name: string; readonly options?: Any };
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
}

export function sandboxesService(channel: Channel): SandboxStore {
  return {
    async create({ id, labels = {}, runtime: { name, options: runtimeOptions } }, options) {
      const runtime = { name, options: runtimeOptions === undefined ? undefined : toWireAny(runtimeOptions) };
      const sandbox = { sandboxId: id, runtime, spec: undefined, labels, createdAt: undefined, updatedAt: undefined, extensions: {}, sandboxer: '' };
      await channel.unary(StoreService.create, { sandbox }, options);
    },
    async delete(id, options) {
      await channel.unary(StoreService.delete, { sandboxId: id }, options);
    },
    async list(filters = [], options) {
      const { list } = await channel.unary(StoreService.list, { filters: [...filters] }, options);
      return list.map(sandboxInfo);
    },
  };
}

function sandboxInfo({ sandboxId, labels, runtime, createdAt }: Sandbox): SandboxInfo {
  const options = runtime?.options === undefined ? {} : { options: fromWireAny(runtime.options) };
  return { id: sandboxId, labels, runtime: { name: runtime?.name ?? '', ...options }, createdAt: toNanos(createdAt) };
}
