/** A port mapping as CRI gives it (PodSandboxConfig.port_mappings). */
export interface PortMappingInput {
  readonly hostPort: number;
  readonly containerPort: number;
  /** In any case: TCP, UDP or SCTP. Default tcp. */
  readonly protocol?: string;
  readonly hostIp?: string;
}

export interface DnsInput {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface CapabilityInput {
  readonly portMappings?: readonly PortMappingInput[];
  /** Bandwidth is taken from them, and they go to plugins that declare `io.kubernetes.cri.pod-annotations`. */
  readonly podAnnotations?: Readonly<Record<string, string>>;
  readonly dns?: DnsInput;
  readonly cgroupPath?: string;
  /** Wanted addresses, with or without prefix length. */
  readonly ips?: readonly string[];
  readonly mac?: string;
}

/** Capability arguments of a pod (CNI CONVENTIONS.md). Throws TypeError naming the field or annotation. */
export function capabilityArgs(_input: CapabilityInput): Record<string, unknown> {
  throw new Error('to follow');
}
