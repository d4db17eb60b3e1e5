import { runtimeInfo, type Any, type Introspection, type RuntimeFeatures } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { toStatus } from '../grpc/status.js';
import type { NodeFacts } from '../spec/index.js';

/** What pods of a runtime handler can have: its OCI runtime and the kernel both know it. */
export interface HandlerFeatures {
  /** Mounts that are read-only with everything below them (mount option `rro`). */
  readonly recursiveReadOnlyMounts: boolean;
  /** User namespaces. For pods of Kubernetes {@link idmappedMounts} are needed as well. */
  readonly userNamespaces: boolean;
  /** Mounts with `uidMappings` and `gidMappings`. Whether a file system can be mounted so is known only when it is tried. */
  readonly idmappedMounts: boolean;
  /** Network interfaces of the node in `linux.netDevices`, as CDI devices may have them. */
  readonly networkDevices: boolean;
  /** The OCI runtime was built with CRIU support; whether CRIU is there is another question. */
  readonly checkpoint: boolean;
}

/** Of a runtime that tells nothing. */
export const NO_FEATURES: HandlerFeatures = {
  recursiveReadOnlyMounts: false,
  userNamespaces: false,
  idmappedMounts: false,
  networkDevices: false,
  checkpoint: false,
};

/** A shim and its OCI runtime answer in milliseconds. */
const PROBE_MS = 5_000;

/**
 * Asks the handler's shim, which asks the OCI runtime that it would run containers with. A runtime that is missing or tells nothing is no
 * error: it has no features, a warning says why, and it may be installed by the time a pod wants it (its features then wait for the next start).
 *
 * @param runtime the shim's name or path. @param options what its tasks are created with
 */
export async function probeHandlerFeatures(
  handler: { readonly name: string; readonly runtime: string; readonly options: Any },
  introspection: Pick<Introspection, 'pluginInfo'>,
  node: NodeFacts,
  log: Logger,
): Promise<HandlerFeatures> {
  const without = (reason: string) => {
    log.warn({ runtimeHandler: handler.name, reason }, 'the features of the runtime handler are not known: it is served without user namespaces, recursive read-only mounts and checkpoints');
    return NO_FEATURES;
  };
  try {
    const { features } = await runtimeInfo(introspection, handler.runtime, handler.options, { timeoutMs: PROBE_MS });
    return features === undefined ? without('its runtime has no `features` command') : handlerFeatures(features, node);
  } catch (error) {
    return without(toStatus(error).message);
  }
}

/** @param told by the OCI runtime */
export function handlerFeatures(told: RuntimeFeatures, { mountSetattr, userNamespaces }: NodeFacts): HandlerFeatures {
  return {
    recursiveReadOnlyMounts: mountSetattr && told.mountOptions?.includes('rro') === true,
    userNamespaces: userNamespaces && told.linux?.namespaces?.includes('user') === true,
    idmappedMounts: mountSetattr && told.linux?.mountExtensions?.idmap?.enabled === true,
    // containerd 2.1 does not pass that word on; version 1.3 of the specification brought it.
    networkDevices: told.linux?.netDevices?.enabled ?? knowsVersion(told.ociVersionMax, 1, 3),
    // `org.opencontainers.runc.checkpoint.enabled`, `run.oci.crun.checkpoint.enabled`
    checkpoint: Object.entries(told.annotations ?? {}).some(([name, value]) => name.endsWith('.checkpoint.enabled') && value === 'true'),
  };
}

function knowsVersion(newest: string | undefined, major: number, minor: number): boolean {
  const [ofMajor = 0, ofMinor = 0] = (newest ?? '').split('.').map(Number);
  return ofMajor > major || (ofMajor === major && ofMinor >= minor);
}
