import type { Any } from '../any.js';
import type { Any as WireAny } from '../gen/google/protobuf/any.js';

export function toWireAny(any: Any): WireAny {
  const { buffer, byteOffset, byteLength } = any.value;
  return { typeUrl: any.typeUrl, value: Buffer.from(buffer, byteOffset, byteLength) };
}

export function fromWireAny(any: WireAny): Any {
  return { typeUrl: any.typeUrl, value: any.value };
}
