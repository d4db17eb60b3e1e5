import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { ContainerdError } from '../errors.js';
import { WaitRequest, WaitResponse } from '../gen/services/tasks/v1/tasks.js';
import { toNanos } from '../grpc/timestamp.js';
import type { Exit } from '../services/tasks.js';
import { ttrpcCall } from './ttrpc-call.js';

/** Where a shim listens, as it told containerd when it was started (`bootstrap.json` in its bundle). */
interface Bootstrap {
  readonly version: number;
  /** `unix:///…` */
  readonly address: string;
  readonly protocol: string;
}

export interface ShimProcessToWaitFor {
  /** Pid of the shim. */
  readonly shim: number;
  readonly containerId: string;
  /** "" for the container's first process. */
  readonly execId: string;
}

const UNIX = /^unix:\/\//;

/**
 * Waits for the end of a process on its shim itself: containerd is not needed for it, and need not be there.
 *
 * A containerd that starts takes a shim's ended tasks away before it serves, and with them their exit status. What ended while it was away is told by the shim only
 * until then.
 *
 * @param proc where this machine's `/proc` is
 * @throws ContainerdError as the shim answers; UNAVAILABLE where it is not there, UNIMPLEMENTED where it does not speak ttrpc
 */
export async function waitOnShim({ shim, containerId, execId }: ShimProcessToWaitFor, proc: string, signal?: AbortSignal): Promise<Exit> {
  const { version, address, protocol } = await bootstrapOf(join(proc, String(shim)));
  if (protocol !== 'ttrpc' || !UNIX.test(address)) throw new ContainerdError(status.UNIMPLEMENTED, 'shim wait', `the shim speaks ${protocol} at ${address}`);
  // Seen as the shim sees it, wherever this process lives. Fields and their numbers are those of containerd's own service.
  const socketPath = join(proc, String(shim), 'root', address.replace(UNIX, ''));
  const payload = WaitRequest.encode({ containerId, execId }).finish();
  const wait = (api: number) => ttrpcCall({ socketPath, service: `containerd.task.v${api}.Task`, method: 'Wait', payload }, signal);
  // containerd goes back to the older one without writing it down.
  const answer = await wait(Math.min(version, 3)).catch((error: unknown) => {
    if (error instanceof ContainerdError && error.code === status.UNIMPLEMENTED && version > 2) return wait(2);
    throw error;
  });
  const { exitStatus, exitedAt } = WaitResponse.decode(answer);
  return { pid: 0, exitStatus, exitedAt: toNanos(exitedAt) };
}

/** A shim runs in the bundle of the container that it was started for. */
async function bootstrapOf(process: string): Promise<Bootstrap> {
  try {
    return JSON.parse(await readFile(join(process, 'cwd/bootstrap.json'), 'utf8')) as Bootstrap;
  } catch (error) {
    const bundle = await readlink(join(process, 'cwd')).catch(() => process);
    throw new ContainerdError(status.UNAVAILABLE, 'shim wait', `${bundle}: ${(error as Error).message}`);
  }
}
