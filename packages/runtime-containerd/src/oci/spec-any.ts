import type { Any } from '../any.js';
import type { LinuxResources, RuntimeSpec, SpecProcess } from './runtime-spec.js';
import { parseWide, stringifyWide } from './wide-json.js';

/** containerd's type URLs of OCI documents; the value is JSON. `1` is the specification's major version. */
const PREFIX = 'types.containerd.io/opencontainers/runtime-spec/1/';
export const specTypeUrl = `${PREFIX}Spec`;
export const processTypeUrl = `${PREFIX}Process`;
export const resourcesTypeUrl = `${PREFIX}LinuxResources`;

/** A container record's `spec`. */
export function encodeSpec(spec: RuntimeSpec): Any {
  return encode(specTypeUrl, spec);
}

/** @throws TypeError when it is of another type, SyntaxError when it is not JSON */
export function decodeSpec(any: Any): RuntimeSpec {
  return decode(specTypeUrl, any) as RuntimeSpec;
}

/** An exec's `spec`. */
export function encodeProcess(process: SpecProcess): Any {
  return encode(processTypeUrl, process);
}

/** @throws as `decodeSpec` */
export function decodeProcess(any: Any): SpecProcess {
  return decode(processTypeUrl, any) as SpecProcess;
}

/** The `resources` of a task update. */
export function encodeResources(resources: LinuxResources): Any {
  return encode(resourcesTypeUrl, resources);
}

/** @throws as `decodeSpec` */
export function decodeResources(any: Any): LinuxResources {
  return decode(resourcesTypeUrl, any) as LinuxResources;
}

function encode(typeUrl: string, document: object): Any {
  return { typeUrl, value: Buffer.from(stringifyWide(document)) };
}

function decode(typeUrl: string, any: Any): unknown {
  if (any.typeUrl !== typeUrl) throw new TypeError(`expected ${typeUrl}, got ${any.typeUrl || 'nothing'}`);
  try {
    return parseWide(Buffer.from(any.value).toString('utf8'));
  } catch {
    // The language's own message quotes the document, and a spec holds a container's environment.
    throw new SyntaxError(`${typeUrl.slice(PREFIX.length)} is no JSON`);
  }
}
