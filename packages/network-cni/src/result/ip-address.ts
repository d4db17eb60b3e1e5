import { isIP, SocketAddress } from 'node:net';

export interface Cidr {
  readonly address: string;
  readonly prefixLength: number;
  readonly family: 4 | 6;
}

/** `10.1.0.5/16` or `fd00::5/64`; undefined for anything else. The address keeps its host part. */
export function parseCidr(text: string): Cidr | undefined {
  const match = /^([^/%]+)\/(\d{1,3})$/.exec(text);
  const [, address = '', digits = ''] = match ?? [];
  const family = isIP(address);
  const prefixLength = Number(digits);
  if ((family !== 4 && family !== 6) || digits === '' || prefixLength > (family === 4 ? 32 : 128)) return undefined;
  return { address, prefixLength, family };
}

/** The one usual spelling of an address (RFC 5952), so that equal addresses are equal strings. */
export function canonicalAddress(address: string): string {
  return isIP(address) === 6 ? new SocketAddress({ address, family: 'ipv6' }).address : address;
}
