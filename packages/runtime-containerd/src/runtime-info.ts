import type { Any } from './any.js';
import type { CallOptions } from './call-options.js';
import { RuntimeInfo as WireInfo, RuntimeRequest } from './gen/types/introspection.js';
import { toWireAny } from './grpc/any.js';
import type { RuntimeFeatures } from './oci/runtime-features.js';
import type { Introspection } from './services/introspection.js';

/** What a shim tells about itself and the OCI runtime it calls (containerd.types.RuntimeInfo). */
export interface RuntimeInfo {
  /** The shim's name, for example `io.containerd.runc.v2`. */
  readonly name: string;
  /** The shim's version. */
  readonly version: string;
  /** Missing when its OCI runtime has no `features` command, or the shim has no such runtime. */
  readonly features?: RuntimeFeatures;
}

const PLUGIN = ['io.containerd.runtime.v2', 'task'] as const;
const requestTypeUrl = 'containerd.types.RuntimeRequest';
const infoTypeUrl = 'containerd.types.RuntimeInfo';
/** The value is JSON. */
const featuresTypeUrl = 'types.containerd.io/opencontainers/runtime-spec/1/features/Features';

/**
 * Has containerd run the shim with `-info`. A runc-compatible shim then runs `features` of the OCI runtime that the options name, found as it would be
 * for a container: in containerd's PATH.
 *
 * @param runtime the shim's name, or the path of its binary.
 * @throws ContainerdError when there is no such shim or no such OCI runtime; SyntaxError when the features are not JSON
 */
export async function runtimeInfo(
  introspection: Pick<Introspection, 'pluginInfo'>,
  runtime: string,
  runtimeOptions: Any,
  options?: CallOptions,
): Promise<RuntimeInfo> {
  const request = RuntimeRequest.encode({ runtimePath: runtime, options: toWireAny(runtimeOptions) }).finish();
  const { extra } = await introspection.pluginInfo(...PLUGIN, { typeUrl: requestTypeUrl, value: request }, options);
  if (extra?.typeUrl !== infoTypeUrl) return { name: runtime, version: '' };
  const { name, version, features } = WireInfo.decode(extra.value);
  return {
    name,
    version: version?.version ?? '',
    ...(features?.typeUrl === featuresTypeUrl ? { features: JSON.parse(Buffer.from(features.value).toString('utf8')) as RuntimeFeatures } : {}),
  };
}
