import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createFileRegistry, fromBinary, type DescMethod } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import * as fc from 'fast-check';
import { showFields, WireMessages, type WireField } from './wire-message.js';

/** One call of CRI as a hostile client makes it. */
export interface FuzzCall {
  /** `RunPodSandbox`. */
  readonly name: string;
  /** `/runtime.v1.RuntimeService/RunPodSandbox`. */
  readonly path: string;
  readonly streams: boolean;
  /** Whether it begins as a good request and only what is in `fields` is hostile. */
  readonly good: boolean;
  readonly fields: readonly WireField[];
  /** What comes behind the message; mostly nothing. */
  readonly tail: Uint8Array;
  /** When its caller goes away, milliseconds; undefined: it waits. */
  readonly leavesAfter: number | undefined;
}

/** How often a call is made, where not once: what makes objects, so that the others have something to work on. */
const WEIGHTS: Readonly<Record<string, number>> = { RunPodSandbox: 8, CreateContainer: 12, StartContainer: 6, ExecSync: 4, StopContainer: 3, RemoveContainer: 2 };

/** The calls of `proto/cri`, as the compiler reads them. */
export async function readCriMethods(): Promise<DescMethod[]> {
  const checkout = join(import.meta.dirname, '../../../../..');
  const { stdout } = await promisify(execFile)(join(checkout, 'node_modules/.bin/buf'), ['build', join(checkout, 'proto/cri'), '-o', '-'], {
    encoding: 'buffer',
    maxBuffer: 16 * 1024 * 1024,
  });
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout));
  return [...registry.files].flatMap(({ services }) => services).flatMap(({ methods }) => methods);
}

export function criCalls(methods: readonly DescMethod[]): fc.Arbitrary<FuzzCall> {
  const messages = new WireMessages();
  const arbitraries = methods.map((method) => ({ weight: WEIGHTS[method.name] ?? 1, arbitrary: callOf(method, messages) }));
  return fc.oneof(...arbitraries);
}

function callOf(method: DescMethod, messages: WireMessages): fc.Arbitrary<FuzzCall> {
  const fields = messages.of(method.input);
  const tail = fc.oneof({ weight: 40, arbitrary: fc.constant(new Uint8Array()) }, { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 40 }) });
  return fc
    .record({
      name: fc.constant(method.name),
      path: fc.constant(`/${method.parent.typeName}/${method.name}`),
      streams: fc.constant(method.methodKind === 'server_streaming'),
      good: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
      fields: fc.oneof({ weight: 2, arbitrary: fields }, { weight: 1, arbitrary: fc.constant([]) }),
      tail,
      leavesAfter: fc.oneof({ weight: 20, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.nat(40) }),
    })
    .map((call) => Object.assign(call, { [fc.toStringMethod]: () => showCall(call) }));
}

export function showCall({ name, good, fields, tail, leavesAfter }: FuzzCall): string {
  const behind = tail.length > 0 ? ` ++ ${Buffer.from(tail).toString('hex')}` : '';
  return `${name}(${good ? 'good, but ' : ''}${showFields(fields)}${behind}${leavesAfter === undefined ? '' : `, leaves after ${leavesAfter} ms`})`;
}
