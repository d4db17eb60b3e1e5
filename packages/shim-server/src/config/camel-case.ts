import * as z from 'zod';

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** T with camelCase keys, all the way down; keys that are data (an index signature) stay as they are. */
export type CamelKeys<T> = T extends readonly unknown[]
  ? Readonly<T>
  : T extends object
    ? { readonly [K in keyof T as K extends string ? (string extends K ? K : Camel<K>) : K]: CamelKeys<T[K]> }
    : T;

/** Renames the keys of a value that `schema` parsed; the schema tells keys of the format from keys that are the user's data. */
export function camelKeys(schema: z.ZodType, value: unknown): unknown {
  const type = unwrap(schema);
  if (type instanceof z.ZodObject && isTable(value)) {
    const entries = Object.entries(value).map(([name, child]) => [camel(name), camelKeys(type.shape[name] as z.ZodType, child)]);
    return Object.fromEntries(entries);
  }
  if (type instanceof z.ZodRecord && isTable(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, camelKeys(type.valueType as z.ZodType, child)]));
  }
  return value;
}

/** The type below defaults and optionality. */
export function unwrap(schema: z.ZodType): z.ZodType {
  let type = schema;
  while (type instanceof z.ZodPrefault || type instanceof z.ZodOptional) type = type.unwrap() as z.ZodType;
  return type;
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** `bin_dirs` becomes `binDirs`. */
export function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
