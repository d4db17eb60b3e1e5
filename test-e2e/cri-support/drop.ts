/**
 * Loaded before a test by `node --import`: takes one field of CRI off the wire, or one call out of the server, as CRIQUET_DROP names it
 * (`PodSandboxConfig.hostname`, `RuntimeService.Exec`). Client and server of a component test share the process, so a field that is
 * not encoded reaches neither. What was dropped is told at the end, on standard error.
 */
import * as cri from '@criquet/cri-api';
import { droppedLine, NOT_APPLIED } from './drop-protocol.js';

interface MessageType {
  encode(message: Record<string, unknown>, writer?: unknown): unknown;
  fromPartial(object: object): Record<string, unknown>;
}

const wanted = process.env.CRIQUET_DROP ?? '';
const [owner = '', member = ''] = wanted.split('.');
const exported = cri as unknown as Readonly<Record<string, unknown>>;
let times = 0;

if (owner.endsWith('Service')) dropCall(exported[`${owner}Service`] as Record<string, { path: string }> | undefined, member);
else dropField(exported[owner] as MessageType | undefined, member);
process.on('exit', () => process.stderr.write(`${droppedLine(times)}\n`));

/** The client has the path already, the server takes it when it starts. */
function dropCall(service: Readonly<Record<string, { path: string }>> | undefined, call: string): void {
  const definition = service?.[call.charAt(0).toLowerCase() + call.slice(1)];
  if (definition === undefined) return notApplied();
  definition.path = `${definition.path}-dropped`;
  times = 1;
}

function dropField(type: MessageType | undefined, key: string): void {
  const empty = type?.fromPartial({}) ?? {};
  if (type === undefined || !Object.hasOwn(empty, key)) return notApplied();
  const encode = type.encode.bind(type);
  const blank = empty[key];
  type.encode = (message, writer) => {
    if (isSet(message[key], blank)) times += 1;
    return encode({ ...message, [key]: blank }, writer);
  };
}

function isSet(value: unknown, blank: unknown): boolean {
  if (Array.isArray(value) || Buffer.isBuffer(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null && typeof blank === 'object') return Object.keys(value).length > 0;
  return value !== undefined && value !== blank;
}

function notApplied(): void {
  process.stderr.write(`no such field or call: ${wanted}\n`);
  process.exit(NOT_APPLIED);
}
