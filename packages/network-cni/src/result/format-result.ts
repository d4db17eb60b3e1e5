import { compact, type JsonObject } from '../json/object-reader.js';
import { isAtLeast, type CniVersion } from '../version.js';
import type { CniResult, ResultDns, ResultRoute } from './cni-result.js';
import { parseCidr } from './ip-address.js';

/**
 * A result as JSON of the given version, for `prevResult` and the cache. What a version cannot say is left out: before 1.0 the
 * interfaces' mtu, socketPath and pciID; before 0.3 the interfaces and all but the first address of each family.
 */
export function formatResult(result: CniResult, version: CniVersion): JsonObject {
  if (!isAtLeast(version, '0.3.0')) return formatLegacy(result, version);
  const current = isAtLeast(version, '1.0.0');
  return compact<Record<string, unknown>>({
    cniVersion: version,
    interfaces: unlessEmpty(
      current ? result.interfaces : result.interfaces.map(({ name, mac, sandbox }) => compact({ name, mac, sandbox })),
    ),
    ips: unlessEmpty(current ? result.ips : result.ips.map((ip) => ({ version: String(familyOf(ip.address)), ...ip }))),
    routes: unlessEmpty(result.routes),
    dns: formatDns(result.dns),
  });
}

function formatLegacy(result: CniResult, version: CniVersion): JsonObject {
  return compact<Record<string, unknown>>({
    cniVersion: version,
    ip4: legacyFamily(result, 4),
    ip6: legacyFamily(result, 6),
    dns: formatDns(result.dns),
  });
}

function legacyFamily(result: CniResult, family: 4 | 6): JsonObject | undefined {
  const ip = result.ips.find(({ address }) => familyOf(address) === family);
  if (ip === undefined) return undefined;
  const routes = result.routes.filter(({ dst }) => familyOf(dst) === family);
  return compact<Record<string, unknown>>({
    ip: ip.address,
    gateway: ip.gateway,
    routes: unlessEmpty(routes.map(({ dst, gw }) => compact<ResultRoute>({ dst, gw }))),
  });
}

function formatDns(dns: ResultDns): JsonObject | undefined {
  const fields = compact<Record<string, unknown>>({
    nameservers: unlessEmpty(dns.nameservers),
    domain: dns.domain,
    search: unlessEmpty(dns.search),
    options: unlessEmpty(dns.options),
  });
  return Object.keys(fields).length === 0 ? undefined : fields;
}

function unlessEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function familyOf(cidr: string): 4 | 6 {
  return parseCidr(cidr)?.family ?? 4;
}
