/** A JSON object as it came from a file or a plugin. */
export type JsonObject = { readonly [key: string]: unknown };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reports a wrong field; `field` is a path like `ips[0].address`. */
export type FieldFailure = (field: string, reason: string) => Error;

/**
 * Reads typed fields of a JSON object and names the path of what is wrong. null counts as absent, as it does for Go's decoder, with
 * which nearly every plugin is written.
 */
export class ObjectReader {
  constructor(
    readonly raw: JsonObject,
    private readonly path: string,
    private readonly failure: FieldFailure,
  ) {}

  field(key: string): string {
    return this.path === '' ? key : `${this.path}.${key}`;
  }

  fail(key: string, reason: string): never {
    throw this.failure(this.field(key), reason);
  }

  /** undefined when absent. */
  string(key: string): string | undefined {
    const value = this.#value(key);
    if (value === undefined || typeof value === 'string') return value;
    return this.fail(key, `expected a string, found ${describe(value)}`);
  }

  /** As `string`, with the empty string counted as absent (Go's omitempty is not used by every plugin). */
  text(key: string): string | undefined {
    return this.string(key) || undefined;
  }

  /** A whole number. */
  integer(key: string): number | undefined {
    const value = this.#value(key);
    if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value))) return value;
    return this.fail(key, `expected a whole number, found ${describe(value)}`);
  }

  object(key: string): ObjectReader | undefined {
    const value = this.#value(key);
    if (value === undefined) return undefined;
    if (isJsonObject(value)) return new ObjectReader(value, this.field(key), this.failure);
    return this.fail(key, `expected an object, found ${describe(value)}`);
  }

  /** undefined when absent. */
  list(key: string): readonly unknown[] | undefined {
    const value = this.#value(key);
    if (value === undefined || Array.isArray(value)) return value;
    return this.fail(key, `expected a list, found ${describe(value)}`);
  }

  /** Absent is empty. */
  objects(key: string): ObjectReader[] {
    return (this.list(key) ?? []).map((value, index) => {
      if (isJsonObject(value)) return new ObjectReader(value, `${this.field(key)}[${index}]`, this.failure);
      return this.fail(`${key}[${index}]`, `expected an object, found ${describe(value)}`);
    });
  }

  /** Absent is empty. */
  strings(key: string): string[] {
    return (this.list(key) ?? []).map((value, index) => {
      if (typeof value === 'string') return value;
      return this.fail(`${key}[${index}]`, `expected a string, found ${describe(value)}`);
    });
  }

  #value(key: string): unknown {
    return Object.hasOwn(this.raw, key) ? (this.raw[key] ?? undefined) : undefined;
  }
}

/** The kind of a JSON value in words, without its content. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** An object without the keys whose value is undefined, so that optional fields are absent rather than undefined. */
export function compact<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
