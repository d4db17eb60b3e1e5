import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createFileRegistry, fromBinary, type DescEnum, type DescField, type DescMessage, type DescService } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { CHECKOUT } from './checkout.js';

/** One field of a message. */
export interface FieldDefinition {
  /** As the definition has it: `pod_sandbox_id`. */
  readonly name: string;
  /** As in TypeScript: `podSandboxId`. */
  readonly key: string;
  readonly type: string;
  readonly deprecated: boolean;
  readonly enumeration?: EnumDefinition;
}

export interface EnumDefinition {
  readonly name: string;
  readonly values: readonly string[];
}

export interface MessageDefinition {
  readonly name: string;
  readonly fields: readonly FieldDefinition[];
}

export interface CallDefinition {
  readonly name: string;
  readonly request: string;
  readonly response: string;
  /** Messages that no earlier call has, from the request and what it holds to the response. */
  readonly messages: readonly MessageDefinition[];
}

export interface ServiceDefinition {
  readonly name: string;
  readonly calls: readonly CallDefinition[];
}

/** The services of a directory with protobuf definitions, by the compiler that `scripts/generate` uses. */
export async function readDefinition(directory: string): Promise<ServiceDefinition[]> {
  const buf = `${CHECKOUT}/node_modules/.bin/buf`;
  const { stdout } = await promisify(execFile)(buf, ['build', directory, '-o', '-'], { encoding: 'buffer', maxBuffer: 16 * 1024 * 1024 });
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout));
  const seen = new Set<string>();
  return [...registry.files].flatMap(({ services }) => services).map((service) => ({ name: service.name, calls: calls(service, seen) }));
}

function calls(service: DescService, seen: Set<string>): CallDefinition[] {
  return service.methods.map(({ name, input, output }) => ({
    name,
    request: input.name,
    response: output.name,
    messages: [...reached(input, seen), ...reached(output, seen)],
  }));
}

/** A message and, behind it, those of its fields; each once in the whole definition. */
function reached(message: DescMessage, seen: Set<string>): MessageDefinition[] {
  if (seen.has(message.typeName)) return [];
  seen.add(message.typeName);
  const held = message.fields.flatMap((field) => {
    const inside = messageOf(field);
    return inside === undefined ? [] : reached(inside, seen);
  });
  return [{ name: message.name, fields: message.fields.map(fieldDefinition) }, ...held];
}

function messageOf(field: DescField): DescMessage | undefined {
  return field.message;
}

function fieldDefinition(field: DescField): FieldDefinition {
  const { enum: values } = field;
  return {
    name: field.name,
    key: field.localName,
    type: typeName(field),
    deprecated: field.proto.options?.deprecated === true,
    ...(values && { enumeration: { name: enumName(values), values: values.values.map(({ name }) => name) } }),
  };
}

function typeName(field: DescField): string {
  switch (field.fieldKind) {
    case 'map':
      return `map<${SCALARS[field.mapKey] ?? '?'}, ${elementName(field)}>`;
    case 'list':
      return `repeated ${elementName(field)}`;
    default:
      return elementName(field);
  }
}

function elementName(field: DescField): string {
  return field.message?.name ?? (field.enum && enumName(field.enum)) ?? SCALARS[field.scalar ?? 0] ?? '?';
}

/** `SecurityProfile.ProfileType`: with the messages it stands in, without the package. */
function enumName({ typeName: full, file }: DescEnum): string {
  return full.slice(file.proto.package.length + 1);
}

/** google.protobuf.FieldDescriptorProto.Type, of scalars. */
const SCALARS: Readonly<Record<number, string>> = {
  1: 'double', 2: 'float', 3: 'int64', 4: 'uint64', 5: 'int32', 6: 'fixed64', 7: 'fixed32', 8: 'bool', 9: 'string',
  12: 'bytes', 13: 'uint32', 15: 'sfixed32', 16: 'sfixed64', 17: 'sint32', 18: 'sint64',
};

/** The enumerations that fields have, each once. */
export function enumerations(services: readonly ServiceDefinition[]): EnumDefinition[] {
  const fields = services.flatMap(({ calls: list }) => list).flatMap(({ messages }) => messages).flatMap((message) => message.fields);
  const found = new Map(fields.flatMap(({ enumeration }) => (enumeration === undefined ? [] : [[enumeration.name, enumeration] as const])));
  return [...found.values()];
}
