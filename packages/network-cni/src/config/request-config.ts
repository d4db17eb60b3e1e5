import type { JsonObject } from '../json/object-reader.js';
import type { NetworkConfig, NetworkConfigList } from './network-config.js';

/** Request configuration of ADD, DEL and CHECK (SPEC.md section 3, "Deriving request configuration from plugin configuration"). */
export function attachmentRequest(
  list: NetworkConfigList,
  plugin: NetworkConfig,
  capabilityArgs: Readonly<Record<string, unknown>>,
  prevResult: JsonObject | undefined,
): JsonObject {
  const { capabilities: _declared, prevResult: _stale, ...fields } = withoutReserved(plugin.raw);
  const wanted = plugin.capabilities.filter((name) => Object.hasOwn(capabilityArgs, name) && capabilityArgs[name] !== undefined);
  const runtimeConfig = Object.fromEntries(wanted.map((name) => [name, capabilityArgs[name]]));
  return {
    ...fields,
    ...identity(list),
    ...(wanted.length > 0 && { runtimeConfig }),
    ...(prevResult !== undefined && { prevResult }),
  };
}

/** Request configuration of GC and STATUS, which belong to no attachment; `extra` holds GC's list. */
export function networkRequest(list: NetworkConfigList, plugin: NetworkConfig, extra: JsonObject = {}): JsonObject {
  return { ...withoutReserved(plugin.raw), ...identity(list), ...extra };
}

function identity(list: NetworkConfigList): JsonObject {
  return { cniVersion: list.cniVersion, name: list.name };
}

/** Keys with this prefix are the runtime's to set. */
function withoutReserved(raw: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(raw).filter(([key]) => !key.startsWith('cni.dev/')));
}
