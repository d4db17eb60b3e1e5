import * as cri from '@criquet/cri-api';
import { Server, type ServiceDefinition } from '@grpc/grpc-js';

/** Something of CRI that is away until it is put back. */
export interface Dropped {
  /** How often it would have been there. */
  times(): number;
  restore(): void;
}

interface MessageType {
  encode(message: Record<string, unknown>, writer?: unknown): unknown;
  fromPartial(object: object): Record<string, unknown>;
}

/**
 * Takes one field of CRI off the wire (`PodSandboxConfig.logDirectory`), or one call out of servers that start from now on
 * (`RuntimeService.Exec`). Client and server of a component test share the process, so a field that is not encoded reaches neither.
 *
 * @returns undefined when there is no such field or call
 */
export function drop(name: string): Dropped | undefined {
  const [owner = '', member = ''] = name.split('.');
  const exported = cri as unknown as Readonly<Record<string, unknown>>;
  if (owner.endsWith('Service')) return dropCall(exported[`${owner}Service`] as ServiceDefinition | undefined, member);
  return dropField(exported[owner] as MessageType | undefined, member);
}

function dropCall(service: ServiceDefinition | undefined, call: string): Dropped | undefined {
  const path = service?.[call.charAt(0).toLowerCase() + call.slice(1)]?.path;
  if (path === undefined) return undefined;
  let times = 0;
  const { addService } = Server.prototype;
  Server.prototype.addService = function (definition, implementation) {
    const rest = Object.fromEntries(Object.entries(definition).filter(([, method]) => method.path !== path));
    if (Object.keys(rest).length < Object.keys(definition).length) times += 1;
    addService.call(this, rest, implementation);
  };
  return { times: () => times, restore: () => (Server.prototype.addService = addService) };
}

function dropField(type: MessageType | undefined, key: string): Dropped | undefined {
  const empty = type?.fromPartial({}) ?? {};
  if (type === undefined || !Object.hasOwn(empty, key)) return undefined;
  let times = 0;
  const { encode } = type;
  const blank = empty[key];
  type.encode = (message, writer) => {
    if (isSet(message[key], blank)) times += 1;
    return encode.call(type, { ...message, [key]: blank }, writer);
  };
  return { times: () => times, restore: () => (type.encode = encode) };
}

function isSet(value: unknown, blank: unknown): boolean {
  if (Array.isArray(value) || Buffer.isBuffer(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null && typeof blank === 'object') return Object.keys(value).length > 0;
  return value !== undefined && value !== blank;
}
