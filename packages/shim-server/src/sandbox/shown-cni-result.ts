import type { CniResult } from '@criquet/network-cni';

/** What CNI answered for a pod, in the form in which containerd's plugin shows it: of all networks together, the addresses by interface. */
export interface ShownCniResult {
  readonly Interfaces: Record<string, ShownInterface>;
  readonly DNS: Partial<CniResult['dns']>[];
  readonly Routes: CniResult['routes'][number][];
}

interface ShownInterface {
  readonly IPConfigs: { readonly IP: string; readonly Gateway: string }[];
  readonly Mac: string;
  readonly Sandbox: string;
  readonly PciID: string;
  readonly SocketPath: string;
}

/** @param results by the name of the pod's interface that ADD was asked for, in the order of the networks */
export function shownCniResult(results: readonly (readonly [ifName: string, result: CniResult])[]): ShownCniResult {
  const shown: ShownCniResult = { Interfaces: {}, DNS: [], Routes: [] };
  for (const [ifName, { interfaces, ips, routes, dns }] of results) {
    for (const { name, mac = '', sandbox = '', pciID = '', socketPath = '' } of interfaces) {
      shown.Interfaces[name] = { IPConfigs: [], Mac: mac, Sandbox: sandbox, PciID: pciID, SocketPath: socketPath };
    }
    for (const { address, gateway = '', interface: index } of ips) {
      const name = (index === undefined ? undefined : interfaces[index]?.name) ?? ifName;
      const owner = (shown.Interfaces[name] ??= { IPConfigs: [], Mac: '', Sandbox: '', PciID: '', SocketPath: '' });
      owner.IPConfigs.push({ IP: address.split('/')[0] ?? '', Gateway: gateway });
    }
    shown.DNS.push(Object.fromEntries(Object.entries(dns).filter(([, value]: [string, string | readonly string[]]) => value.length > 0)));
    shown.Routes.push(...routes);
  }
  return shown;
}
