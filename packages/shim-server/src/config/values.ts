import * as z from 'zod';
import { isGlob } from '../spec/glob.js';
import { parseUlimit } from '../spec/rlimits.js';

/** What a configuration key carries beside its type, for error messages and for the documented default configuration. */
export interface KeyDocumentation {
  /** One sentence or more: what the key does. */
  readonly description: string;
  /** What may stand there, in words that complete "expected …". */
  readonly allowed: string;
}

/** A key with its default, in the form in which it stands in the file. */
export function key<T extends z.ZodType>(type: T, value: z.input<T>, description: string) {
  return type.prefault(value as Exclude<z.input<T>, undefined>).meta({ ...type.meta(), description });
}

/** A key that may be absent and then has a meaning of its own, which the description says. */
export function optionalKey<T extends z.ZodType>(type: T, description: string) {
  return type.optional().meta({ ...type.meta(), description });
}

/** A table of keys; unknown keys are refused. */
export function table<T extends z.core.$ZodLooseShape>(shape: T, description: string) {
  return z.strictObject(shape).prefault({} as never).meta({ description });
}

export const text = z.string().meta({ allowed: 'a string' });
export const nonEmptyText = z.string().min(1).meta({ allowed: 'a string that is not empty' });
export const flag = z.boolean().meta({ allowed: 'true or false' });

export const absolutePath = z
  .string()
  .regex(/^\/[^\0]*$/)
  .meta({ allowed: 'an absolute path such as "/run/criquet"' });

/** An absolute path, or "" for what the description says. */
export const optionalPath = z
  .string()
  .regex(/^(\/[^\0]*)?$/)
  .meta({ allowed: 'an absolute path, or "" to leave it unset' });

export const absolutePaths = z
  .array(z.string().regex(/^\/[^\0]*$/))
  .min(1)
  .meta({ allowed: 'a list of absolute paths, at least one' });

/** Resource limits such as "nofile=1024:4096", each name once. */
export const ulimits = z
  .array(z.string())
  .superRefine((list, context) => {
    const limited = new Map<string, number>();
    for (const [index, text] of list.entries()) {
      try {
        const { type } = parseUlimit(text);
        const before = limited.get(type);
        if (before !== undefined) throw new Error(`entry ${before + 1} limits ${text.split('=')[0]} already`);
        limited.set(type, index);
      } catch (error) {
        context.addIssue({ code: 'custom', path: [index], message: (error as Error).message, params: { entry: index, written: text } });
      }
    }
  })
  .meta({ allowed: 'a list of limits, each name once, such as ["nofile=1024:4096", "core=0", "memlock=unlimited"] (soft and hard limit)' });

export const globs = z
  .array(z.string().min(1).refine(isGlob))
  .meta({ allowed: 'a list of globs such as "io.example/*", each with every [ closed' });

/** What fits into `sun_path` (unix(7)) with its final NUL. */
const MAX_SOCKET_PATH_BYTES = 107;

/** A unix socket: `unix:///path` or `/path`, normalised to `unix:///path`. */
export const unixAddress = z
  .string()
  .regex(/^(unix:\/\/)?\/[^\0]+$/)
  .refine((value) => Buffer.byteLength(value.replace(/^unix:\/\//, '')) <= MAX_SOCKET_PATH_BYTES)
  .transform((value) => (value.startsWith('/') ? `unix://${value}` : value))
  .meta({ allowed: `a unix socket address such as "unix:///run/criquet/criquet.sock", its path at most ${MAX_SOCKET_PATH_BYTES} bytes` });

export function wholeNumber(min: number, max: number) {
  return z.int().min(min).max(max).meta({ allowed: `a whole number from ${min} to ${max}` });
}

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 };

/** A duration in Go's notation ("30s", "1h30m", "1.5s"), at least one millisecond; in the configuration object: milliseconds. */
export const duration = z
  .string()
  .transform((value, context) => {
    const ms = parseDuration(value);
    if (ms !== undefined && ms >= 1) return ms;
    context.addIssue({ code: 'custom', message: 'not a duration' });
    return z.NEVER;
  })
  .meta({ allowed: 'a duration of 1ms or more such as "30s", "5m" or "1h30m"', unit: 'ms' });

/** As {@link duration}; "0s" is never. */
export const durationOrNever = z
  .string()
  .transform((value, context) => {
    const ms = parseDuration(value);
    if (ms !== undefined) return ms;
    context.addIssue({ code: 'custom', message: 'not a duration' });
    return z.NEVER;
  })
  .meta({ allowed: 'a duration such as "30s", "5m" or "1h30m"; "0s" is never', unit: 'ms' });

function parseDuration(value: string): number | undefined {
  if (!/^(\d+(\.\d+)?(h|ms|m|s|us|µs|ns))+$/.test(value)) return undefined;
  let ms = 0;
  for (const [, amount, unit] of value.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)) {
    ms += Number(amount) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
  }
  return Number.isFinite(ms) ? Math.round(ms) : undefined;
}

const SIZE_FACTOR: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** A size in bytes: a whole number or Kubernetes' notation ("64Mi", "1G"); in the configuration object: bytes. */
export function byteSize(min: number, max: number, range: string) {
  return z
    .union([z.int(), z.string()])
    .transform((value, context) => {
      const bytes = typeof value === 'number' ? value : parseByteSize(value);
      if (bytes !== undefined && bytes >= min && bytes <= max) return bytes;
      context.addIssue({ code: 'custom', message: 'not a size in range' });
      return z.NEVER;
    })
    .meta({ allowed: `a size in bytes such as 65536 or "64Mi", ${range}` });
}

function parseByteSize(value: string): number | undefined {
  const match = /^(\d+)(k|M|G|Ki|Mi|Gi)?$/.exec(value);
  if (match === null) return undefined;
  const bytes = Number(match[1]) * (SIZE_FACTOR[match[2] ?? ''] ?? Number.NaN);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
