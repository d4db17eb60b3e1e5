import { isIP } from 'node:net';

/** A port mapping as CRI gives it (PodSandboxConfig.port_mappings). */
export interface PortMappingInput {
  /** 0 maps nothing. */
  readonly hostPort: number;
  readonly containerPort: number;
  /** TCP, UDP or SCTP in any case. Default tcp. */
  readonly protocol?: string;
  /** Empty or absent: every address of the host. */
  readonly hostIp?: string;
}

/** An entry of the capability argument `portMappings` (CNI CONVENTIONS.md). */
export interface PortMapping {
  readonly hostPort: number;
  readonly containerPort: number;
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly hostIP?: string;
}

/** The mappings that map something. Throws TypeError naming the field. */
export function portMappingsOf(inputs: readonly PortMappingInput[]): PortMapping[] {
  return inputs.flatMap((input, index) => {
    const { hostPort, containerPort, hostIp = '' } = input;
    const field = `port_mappings[${index}]`;
    if (hostPort === 0) return [];
    if (!isPort(hostPort)) throw new TypeError(`${field}.host_port: ${hostPort} is no port`);
    if (!isPort(containerPort)) throw new TypeError(`${field}.container_port: ${containerPort} is no port`);
    const protocol = (input.protocol ?? 'tcp').toLowerCase();
    if (protocol !== 'tcp' && protocol !== 'udp' && protocol !== 'sctp') {
      throw new TypeError(`${field}.protocol: ${JSON.stringify(input.protocol)} is none of tcp, udp, sctp`);
    }
    if (hostIp !== '' && isIP(hostIp) === 0) throw new TypeError(`${field}.host_ip: ${JSON.stringify(hostIp)} is no IP address`);
    return [{ hostPort, containerPort, protocol, ...(hostIp !== '' && { hostIP: hostIp }) }];
  });
}

function isPort(number: number): boolean {
  return Number.isInteger(number) && number >= 1 && number <= 65_535;
}
