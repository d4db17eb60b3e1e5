import * as z from 'zod';
import { readGoDocument } from '../config/go-document.js';
import { parseQuantity } from './quantity.js';

/*
 * The file of block IO classes in goresctrl's format (https://github.com/intel/goresctrl, doc/blockio.md), the same as
 * containerd's `blockio_config_file`.
 */

const text = z.union([z.string(), z.number()]).transform(String);

function quantity(min: number, max: number) {
  return text
    .transform((value, context) => {
      const number = parseQuantity(value);
      if (number !== undefined && number >= min && number <= max) return number;
      context.addIssue({ code: 'custom', message: `${JSON.stringify(value)} is not a number from ${min} to ${max} such as "50M"` });
      return z.NEVER;
    })
    .optional();
}

const rate = quantity(0, Number.MAX_SAFE_INTEGER);

const parameters = z.strictObject({
  /** Patterns of the shell; without them the weight is that of all devices. */
  Devices: z.array(text).optional(),
  /** Bytes a second. */
  ThrottleReadBps: rate,
  ThrottleWriteBps: rate,
  /** Operations a second. */
  ThrottleReadIOPS: rate,
  ThrottleWriteIOPS: rate,
  /** Of cgroup v1's scale. */
  Weight: quantity(10, 1000),
});

const document = z.strictObject({
  Classes: z.record(z.string(), z.array(parameters)).default({}),
});

export type BlockIoParameters = z.output<typeof parameters>;
/** Each class' parameters; a later one of a class counts over an earlier one for the same device. */
export type BlockIoClasses = Readonly<Record<string, readonly BlockIoParameters[]>>;

const KEYS = { known: [...Object.keys(document.shape), ...Object.keys(parameters.shape)], free: ['Classes'] };

/** @throws Error naming the place in the document that is wrong. */
export function parseBlockIoClasses(source: string): BlockIoClasses {
  const parsed = document.safeParse(readGoDocument(source, KEYS) ?? {});
  if (parsed.success) return parsed.data.Classes;
  throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
}
