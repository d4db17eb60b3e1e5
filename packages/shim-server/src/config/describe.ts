import * as z from 'zod';
import { unwrap } from './camel-case.js';
import { configSchema } from './schema.js';

/** One key of the configuration file, for documentation and messages. */
export interface ConfigKey {
  /** Table path and name; `*` stands for a name of the user's choice: `runtime.handlers.*.runtime_type`. */
  readonly path: readonly string[];
  readonly description: string;
  /** What may stand there. */
  readonly allowed: string;
  /** The default as it stands in a file; undefined when the key has none. */
  readonly default: unknown;
}

/** A table of the configuration file. */
export interface ConfigTable {
  readonly path: readonly string[];
  readonly description: string;
  readonly keys: readonly ConfigKey[];
}

/** The configuration file's tables in the order of the schema, the top level first. */
export function describeConfig(): readonly ConfigTable[] {
  return tables(configSchema, [], '');
}

function tables(type: z.ZodObject, path: readonly string[], description: string): ConfigTable[] {
  const keys: ConfigKey[] = [];
  const below: ConfigTable[] = [];
  for (const [name, child] of Object.entries(type.shape) as [string, z.ZodType][]) {
    const inner = unwrap(child);
    const about = String(child.meta()?.description ?? '');
    if (inner instanceof z.ZodObject) below.push(...tables(inner, [...path, name], about));
    else if (inner instanceof z.ZodRecord) below.push(...tables(inner.valueType as z.ZodObject, [...path, name, '*'], about));
    else keys.push({ path: [...path, name], description: about, allowed: allowed(child), default: defaultValue(child) });
  }
  return [{ path, description, keys }, ...below];
}

/** The type that stands at `path` in a file, or undefined where the path leads nowhere. */
export function typeAt(path: readonly PropertyKey[]): z.ZodType | undefined {
  let type: z.ZodType | undefined = configSchema;
  for (const name of path) {
    const inner: z.ZodType = unwrap(type);
    if (inner instanceof z.ZodObject) type = inner.shape[String(name)] as z.ZodType | undefined;
    else if (inner instanceof z.ZodRecord) type = inner.valueType as z.ZodType;
    else return type;
    if (type === undefined) return undefined;
  }
  return type;
}

/** What may stand where `type` is wanted, in words. */
export function allowed(type: z.ZodType): string {
  const words = type.meta()?.allowed ?? unwrap(type).meta()?.allowed;
  return typeof words === 'string' ? words : 'a table';
}

/** The names that a table may hold; undefined where the names are the user's. */
export function knownKeys(type: z.ZodType): readonly string[] | undefined {
  const inner = unwrap(type);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : undefined;
}

function defaultValue(type: z.ZodType): unknown {
  return type instanceof z.ZodPrefault ? type.def.defaultValue : undefined;
}
