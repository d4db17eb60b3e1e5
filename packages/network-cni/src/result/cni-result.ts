/** An interface of a result (SPEC.md section 5, "ADD Success"). */
export interface ResultInterface {
  readonly name: string;
  readonly mac?: string;
  readonly mtu?: number;
  /** Path of the netns it lies in; absent or empty for one on the host. */
  readonly sandbox?: string;
  readonly socketPath?: string;
  readonly pciID?: string;
}

export interface ResultIp {
  /** CIDR notation, e.g. `10.1.0.5/16`. */
  readonly address: string;
  readonly gateway?: string;
  /** Index into `interfaces`. */
  readonly interface?: number;
}

export interface ResultRoute {
  /** CIDR notation. */
  readonly dst: string;
  readonly gw?: string;
  readonly mtu?: number;
  readonly advmss?: number;
  readonly priority?: number;
  readonly table?: number;
  readonly scope?: number;
}

export interface ResultDns {
  readonly nameservers: readonly string[];
  readonly domain?: string;
  readonly search: readonly string[];
  readonly options: readonly string[];
}

/** A result in the shape of CNI 1.1, whatever version the plugins spoke. Absent lists are empty lists. */
export interface CniResult {
  readonly interfaces: readonly ResultInterface[];
  readonly ips: readonly ResultIp[];
  readonly routes: readonly ResultRoute[];
  readonly dns: ResultDns;
}
