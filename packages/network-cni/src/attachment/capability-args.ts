import { isIP } from 'node:net';
import { parseCidr } from '../result/ip-address.js';
import { bandwidthOf } from './bandwidth.js';
import { portMappingsOf, type PortMappingInput } from './port-mappings.js';

export interface DnsInput {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface CapabilityInput {
  readonly portMappings?: readonly PortMappingInput[];
  /** Bandwidth is taken from them, and plugins that declare `io.kubernetes.cri.pod-annotations` get them whole. */
  readonly podAnnotations?: Readonly<Record<string, string>>;
  readonly dns?: DnsInput;
  readonly cgroupPath?: string;
  /** Wanted addresses, with or without prefix length. */
  readonly ips?: readonly string[];
  /** Wanted hardware address, `c2:11:22:33:44:55`. */
  readonly mac?: string;
}

/** The capability by which containerd gives a pod's annotations to plugins. */
export const POD_ANNOTATIONS_CAPABILITY = 'io.kubernetes.cri.pod-annotations';

/**
 * The capability arguments of a pod (CNI CONVENTIONS.md, "Dynamic Plugin specific fields"). What is not asked for is absent, so that
 * a plugin falls back to its configuration. Throws TypeError naming the field or annotation.
 */
export function capabilityArgs(input: CapabilityInput): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  const portMappings = portMappingsOf(input.portMappings ?? []);
  if (portMappings.length > 0) args['portMappings'] = portMappings;
  if (input.podAnnotations !== undefined) {
    const bandwidth = bandwidthOf(input.podAnnotations);
    if (bandwidth !== undefined) args['bandwidth'] = bandwidth;
    args[POD_ANNOTATIONS_CAPABILITY] = { ...input.podAnnotations };
  }
  if (input.dns !== undefined) {
    const { servers, searches, options } = input.dns;
    args['dns'] = { servers: [...servers], searches: [...searches], options: [...options] };
  }
  if (input.cgroupPath) args['cgroupPath'] = input.cgroupPath;
  if (input.ips !== undefined && input.ips.length > 0) args['ips'] = input.ips.map(checkIp);
  if (input.mac) args['mac'] = checkMac(input.mac);
  return args;
}

function checkIp(text: string, index: number): string {
  if (isIP(text) === 0 && parseCidr(text) === undefined) throw new TypeError(`ips[${index}]: ${JSON.stringify(text)} is no IP address`);
  return text;
}

function checkMac(text: string): string {
  if (!/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(text)) throw new TypeError(`mac: ${JSON.stringify(text)} is no hardware address`);
  return text;
}
