import { rm } from 'node:fs/promises';
import { status } from '@grpc/grpc-js';
import type { CallOptions } from '../call-options.js';
import { ContainerdError } from '../errors.js';
import { DeleteRequest, DeleteResponse, ExecProcessRequest, ShutdownRequest, WaitRequest, WaitResponse } from '../gen/runtime/task/v3/shim.js';
import { toWireAny } from '../grpc/any.js';
import { toNanos } from '../grpc/timestamp.js';
import type { Exit, NewExec, Tasks } from '../services/tasks.js';
import type { ShimAddress } from './shim-address.js';
import { ttrpcCall } from './ttrpc-call.js';
import { TtrpcConnection, type TtrpcCallOptions, type TtrpcConnectionOptions } from './ttrpc-connection.js';
import type { TtrpcRequest } from './ttrpc-message.js';

/**
 * The calls of containerd's tasks service that it only passes on to a shim, made on the shim itself: for a fraction of what they cost through containerd, and
 * also while it is not there. Nothing of them is kept in containerd.
 *
 * A shim ends what it does for a call when the caller's connection ends. What must not be cut short, as the start of a process, is for containerd to ask for.
 * What should be quick shares a connection, which is kept for the next call; a wait has one of its own, that ends with it.
 *
 * Errors are ContainerdError as the shim answers, and UNAVAILABLE where it is not there or goes away.
 */
export class ShimTasks implements Pick<Tasks, 'exec' | 'deleteProcess' | 'wait'> {
  private version: number;
  private kept: TtrpcConnection | undefined;

  /**
   * @param defaultTimeoutMs of `exec`, `deleteProcess` and `shutDown`
   * @param options of the connection that is shared
   */
  constructor(
    private readonly address: ShimAddress,
    private readonly defaultTimeoutMs: number,
    private readonly options: TtrpcConnectionOptions = {},
  ) {
    this.version = address.version;
  }

  async exec({ containerId, execId, spec, stdin, stdout, stderr, terminal }: NewExec, options: CallOptions = {}): Promise<void> {
    const request = ExecProcessRequest.fromPartial({ id: containerId, execId, spec: toWireAny(spec), stdin, stdout, stderr, terminal });
    await this.call('Exec', ExecProcessRequest.encode(request).finish(), options);
  }

  async deleteProcess(containerId: string, execId: string, options: CallOptions = {}): Promise<Exit> {
    const answer = await this.call('Delete', DeleteRequest.encode(DeleteRequest.fromPartial({ id: containerId, execId })).finish(), options);
    const { pid, exitStatus, exitedAt } = DeleteResponse.decode(answer);
    return { pid, exitStatus, exitedAt: toNanos(exitedAt) };
  }

  /**
   * A containerd that starts takes a shim's ended tasks away before it serves, and with them their exit status. What ended while it was away is told by
   * the shim only until then.
   */
  async wait(containerId: string, execId = '', options: CallOptions = {}): Promise<Exit> {
    return toExit(await this.call('Wait', waitRequest(containerId, execId), { timeoutMs: 0, ...options }, (...call) => ttrpcCall(this.address.socketPath, ...call)));
  }

  /** {@link wait} for a command, on the connection that is kept: quicker, and nobody can leave it before the command ends, or is killed. */
  async exited(containerId: string, execId: string): Promise<Exit> {
    return toExit(await this.call('Wait', waitRequest(containerId, execId), { timeoutMs: 0 }));
  }

  /**
   * Ends a shim that has no task left, and takes its socket away, which it finds itself only as long as its bundle is there.
   *
   * @param id of what it was started for
   */
  async shutDown(id: string, options: CallOptions = {}): Promise<void> {
    await this.call('Shutdown', ShutdownRequest.encode(ShutdownRequest.fromPartial({ id })).finish(), options);
    this.close();
    await rm(this.address.socketPath, { force: true });
  }

  /** Ends the connection that is kept, when the calls under way on it have their answers. A later call opens another. */
  close(): void {
    this.kept?.close();
    this.kept = undefined;
  }

  private async call(method: string, payload: Uint8Array, { signal, timeoutMs = this.defaultTimeoutMs }: CallOptions, ask = this.share.bind(this)): Promise<Uint8Array> {
    signal?.throwIfAborted();
    const askAt = (version: number) => ask({ service: `containerd.task.v${version}.Task`, method, payload }, { timeoutMs, signal });
    const { version } = this;
    try {
      return await askAt(version);
    } catch (error) {
      // containerd goes back to the older one without writing it down. Fields and their numbers are the same.
      if (version <= 2 || !(error instanceof ContainerdError) || error.code !== status.UNIMPLEMENTED) throw error;
      this.version = 2;
      return askAt(2);
    }
  }

  private share(request: TtrpcRequest, options: TtrpcCallOptions): Promise<Uint8Array> {
    if (this.kept?.takesCalls !== true) this.kept = new TtrpcConnection(this.address.socketPath, this.options);
    return this.kept.call(request, options);
  }
}

function waitRequest(id: string, execId: string): Uint8Array {
  return WaitRequest.encode(WaitRequest.fromPartial({ id, execId })).finish();
}

function toExit(answer: Uint8Array): Exit {
  const { exitStatus, exitedAt } = WaitResponse.decode(answer);
  return { pid: 0, exitStatus, exitedAt: toNanos(exitedAt) };
}
