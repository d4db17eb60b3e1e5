import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { ContainerdError } from '../errors.js';

/** Where a shim listens, as it told containerd when it was started (`bootstrap.json` in its bundle). */
interface Bootstrap {
  readonly version: number;
  /** `unix:///…` */
  readonly address: string;
  readonly protocol: string;
}

/** Where a shim listens, and what it speaks. */
export interface ShimAddress {
  /** As this process sees it, wherever the shim lives. */
  readonly socketPath: string;
  /** Of its task service, at most 3. */
  readonly version: number;
}

const UNIX = /^unix:\/\//;
const NEWEST_VERSION = 3;

/**
 * @param pid of the shim
 * @param proc where this machine's `/proc` is
 * @throws ContainerdError UNAVAILABLE where no shim is, UNIMPLEMENTED for one that does not speak ttrpc
 */
export async function shimAddress(pid: number, proc: string): Promise<ShimAddress> {
  const process = join(proc, String(pid));
  const { version, address, protocol } = await bootstrapOf(process);
  if (protocol !== 'ttrpc' || !UNIX.test(address)) throw new ContainerdError(status.UNIMPLEMENTED, 'shim', `it speaks ${protocol} at ${address}`);
  return { socketPath: join(process, 'root', address.replace(UNIX, '')), version: Math.min(version, NEWEST_VERSION) };
}

/** A shim runs in the bundle of the container that it was started for. */
async function bootstrapOf(process: string): Promise<Bootstrap> {
  try {
    return JSON.parse(await readFile(join(process, 'cwd/bootstrap.json'), 'utf8')) as Bootstrap;
  } catch (error) {
    const bundle = await readlink(join(process, 'cwd')).catch(() => process);
    throw new ContainerdError(status.UNAVAILABLE, 'shim', `${bundle}: ${(error as Error).message}`);
  }
}
