import { ScalarType, type DescField, type DescMessage } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import * as fc from 'fast-check';
import { hostileInteger, hostileText, hostileUtf8 } from './hostile.js';

/** Stands for the id of an object that exists when the message is sent: `pick` chooses, `cut` leaves only a beginning. */
interface IdPlace {
  readonly kind: 'id';
  readonly pick: number;
  readonly cut: boolean;
}

/** Stands for a path below the directory of the run: nothing else on the machine may be touched. */
interface PathPlace {
  readonly kind: 'path';
  readonly below: string;
}

type WireValue = bigint | Uint8Array | IdPlace | PathPlace | readonly WireField[];

/** One field on the wire, of whatever message. */
export interface WireField {
  readonly name: string;
  readonly no: number;
  readonly wireType: WireType.Varint | WireType.LengthDelimited | WireType.Bit32 | WireType.Bit64;
  readonly value: WireValue;
}

/** What placeholders become. */
export interface WirePlaces {
  readonly ids: readonly string[];
  readonly directory: string;
}

/** Fields whose path is looked up, or made, on the node: their caller is the kubelet, which may name any. */
const NODE_PATHS = /^(host_path|log_directory|location|output_path|checkpoint_path|localhost_ref|seccomp_profile_path)$/;
const IDS = /(^|_)ids?$/;

const idPlace: fc.Arbitrary<WireValue> = fc.record({ kind: fc.constant('id' as const), pick: fc.nat(50), cut: fc.boolean() });
const nodePath: fc.Arbitrary<WireValue> = fc.oneof(
  { weight: 4, arbitrary: hostileText.map((below) => ({ kind: 'path' as const, below })) },
  { weight: 1, arbitrary: fc.constantFrom('', 'relative/path', '..', '/proc', '/dev/null', '/dev/zero', '/', '/proc/self/mem').map((text) => new Uint8Array(Buffer.from(text))) },
);

/** Makes messages of a type with few fields, each of them hostile; fields that a later definition adds come with it. */
export class WireMessages {
  private readonly known = new Map<string, fc.Arbitrary<readonly WireField[]>>();

  of(message: DescMessage): fc.Arbitrary<readonly WireField[]> {
    const known = this.known.get(message.typeName);
    if (known !== undefined) return known;
    const fields = message.fields.map((field) => this.field(field));
    const made = fields.length === 0 ? fc.constant([]) : this.some(fc.oneof(...fields));
    this.known.set(message.typeName, made);
    return made;
  }

  /** Mostly one: where everything is wrong only the first of it is looked at. */
  private some(field: fc.Arbitrary<readonly WireField[]>): fc.Arbitrary<readonly WireField[]> {
    const several = fc.array(field, { minLength: 2, maxLength: 5, size: 'max' }).map((lists) => lists.flat());
    return fc.oneof({ weight: 4, arbitrary: field }, { weight: 1, arbitrary: several });
  }

  private field(field: DescField): fc.Arbitrary<readonly WireField[]> {
    const { name, number: no } = field;
    const one = (value: WireValue): WireField => ({ name, no, wireType: wireTypeOf(field), value });
    if (field.fieldKind === 'map') {
      const entry = fc.tuple(hostileUtf8, this.element(field)).map(([key, value]): WireField => ({
        name,
        no,
        wireType: WireType.LengthDelimited,
        value: [
          { name: 'key', no: 1, wireType: WireType.LengthDelimited, value: key },
          { name: 'value', no: 2, wireType: wireTypeOf(field), value },
        ],
      }));
      return fc.array(entry, { maxLength: 3 });
    }
    const element = this.element(field).map(one);
    if (field.fieldKind !== 'list') return element.map((written) => [written]);
    const many = fc.tuple(element, fc.constantFrom(100, 2_000)).map(([written, count]) => Array.from({ length: count }, () => written));
    return fc.oneof({ weight: 60, arbitrary: fc.array(element, { minLength: 1, maxLength: 2 }) }, { weight: 1, arbitrary: many });
  }

  private element(field: DescField): fc.Arbitrary<WireValue> {
    if (field.message !== undefined) return this.of(field.message);
    if (field.enum !== undefined) {
      const values = field.enum.values.map((value) => BigInt(value.number));
      return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: hostileInteger });
    }
    switch (field.scalar) {
      case ScalarType.STRING:
        if (NODE_PATHS.test(field.name)) return nodePath;
        return IDS.test(field.name) ? fc.oneof(idPlace, hostileUtf8) : hostileUtf8;
      case ScalarType.BYTES:
        return fc.uint8Array({ maxLength: 64 });
      case ScalarType.BOOL:
        return fc.constantFrom(0n, 1n);
      default:
        return hostileInteger;
    }
  }
}

function wireTypeOf({ message, scalar }: DescField): WireField['wireType'] {
  if (message !== undefined) return WireType.LengthDelimited;
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}

export function encodeFields(fields: readonly WireField[], places: WirePlaces): Uint8Array {
  const writer = new BinaryWriter();
  for (const { no, wireType, value } of fields) {
    writer.tag(no, wireType);
    if (typeof value !== 'bigint') writer.bytes(bytesOf(value, places));
    else if (wireType === WireType.Bit32) writer.fixed32(Number(BigInt.asUintN(32, value)));
    else if (wireType === WireType.Bit64) writer.fixed64(BigInt.asUintN(64, value));
    else writer.uint64(BigInt.asUintN(64, value));
  }
  return writer.finish();
}

function bytesOf(value: Exclude<WireValue, bigint>, places: WirePlaces): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (!('kind' in value)) return encodeFields(value, places);
  if (value.kind === 'path') return Buffer.from(`${places.directory}/${value.below.replaceAll('..', '__')}`);
  const id = places.ids.length === 0 ? 'none' : (places.ids[value.pick % places.ids.length] ?? 'none');
  return Buffer.from(value.cut ? id.slice(0, 12) : id);
}

/** For a report of a failure. */
export function showFields(fields: readonly WireField[]): string {
  return `{${fields.slice(0, 12).map(({ name, value }) => `${name}: ${showValue(value)}`).join(', ')}${fields.length > 12 ? `, … ${fields.length} fields` : ''}}`;
}

function showValue(value: WireValue): string {
  if (typeof value === 'bigint') return `${value}`;
  if (value instanceof Uint8Array) {
    const text = Buffer.from(value).toString('latin1');
    return `${JSON.stringify(text.slice(0, 80))}${text.length > 80 ? ` … ${text.length} bytes` : ''}`;
  }
  if (!('kind' in value)) return showFields(value);
  return value.kind === 'id' ? '<id>' : `<dir>/${JSON.stringify(value.below.slice(0, 80))}`;
}
