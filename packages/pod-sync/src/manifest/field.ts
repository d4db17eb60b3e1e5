import { isQuantity, type Quantity } from './quantity.js';

/** Where a field stands in its document. */
export type FieldPath = readonly (string | number)[];

/** Receives what readers object to. */
export interface ProblemSink {
  error(path: FieldPath, message: string): void;
  warning(path: FieldPath, message: string): void;
}

/** Fields of an object that a reader does not use, each with the reason that the user is told. */
export interface OtherFields {
  /** An error: running the pod without the field would not be what the manifest says. */
  readonly unsupported?: Readonly<Record<string, string>>;
  /** A warning: the pod runs, without what the field asks for. */
  readonly ignored?: Readonly<Record<string, string>>;
  /** Neither: what a cluster writes into an object for its own bookkeeping asks for nothing. */
  readonly bookkeeping?: readonly string[];
}

/** For a second look at what was reported already. */
const SILENT: ProblemSink = { error: () => undefined, warning: () => undefined };

/** A value of a manifest at its path. Readers return undefined for an absent (or null) field and report a wrong one. */
export class Field {
  constructor(
    readonly value: unknown,
    readonly path: FieldPath,
    private readonly sink: ProblemSink,
  ) {}

  get present(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  error(message: string): void {
    this.sink.error(this.path, message);
  }

  warning(message: string): void {
    this.sink.warning(this.path, message);
  }

  string(): string | undefined {
    const scalar = typeof this.value === 'number' || typeof this.value === 'boolean';
    if (!scalar) return this.typed('a string', (value) => typeof value === 'string');
    this.error(`expected a string, got ${String(this.value)}; put it in quotes`);
    return undefined;
  }

  /** A string whose value no message may show: environment values, data of ConfigMaps and Secrets. */
  confidentialString(): string | undefined {
    if (!this.present) return undefined;
    if (typeof this.value === 'string') return this.value;
    this.error('expected a string; a number or true/false must be put in quotes');
    return undefined;
  }

  /** A string that must be there and must not be empty; reports and returns "" otherwise. */
  requiredString(): string {
    if (!this.present || this.value === '') {
      this.error('is required');
      return '';
    }
    return this.string() ?? '';
  }

  boolean(): boolean | undefined {
    return this.typed('true or false', (value) => typeof value === 'boolean');
  }

  integer(min: number, max: number): number | undefined {
    const value = this.typed<number>('a whole number', (v) => typeof v === 'number' && Number.isInteger(v));
    if (value === undefined || (value >= min && value <= max)) return value;
    this.error(`expected a whole number from ${min} to ${max}, got ${value}`);
    return undefined;
  }

  oneOf<T extends string>(allowed: readonly T[]): T | undefined {
    const value = this.string();
    if (value === undefined || (allowed as readonly string[]).includes(value)) return value as T | undefined;
    this.error(`expected one of ${allowed.map((name) => JSON.stringify(name)).join(', ')}, got ${JSON.stringify(value)}`);
    return undefined;
  }

  quantity(): Quantity | undefined {
    if (!this.present) return undefined;
    const text = typeof this.value === 'number' ? String(this.value) : this.value;
    if (typeof text === 'string' && isQuantity(text)) return text as Quantity;
    this.error(`expected a quantity such as "500m" or "64Mi", got ${shown(this.value)}`);
    return undefined;
  }

  /** The elements of a list; none when absent. */
  list(): Field[] {
    const value = this.typed<unknown[]>('a list', Array.isArray);
    return (value ?? []).map((element, index) => new Field(element, [...this.path, index], this.sink));
  }

  /**
   * The elements of a list of objects. One that is no object is reported and stands in the result as an empty one, so that an index
   * means the same here as in the manifest.
   */
  objects<T>(read: (fields: ObjectFields, element: Field) => T, other: OtherFields = {}): T[] {
    return this.list().map((element) => {
      if (!element.present) element.error('expected a mapping, got nothing');
      return element.object((fields) => read(fields, element), other) ?? read(new ObjectFields({}, element.path, SILENT), new Field({}, element.path, SILENT));
    });
  }

  strings(): string[] {
    return this.list().map((element) => element.string() ?? this.missingElement(element));
  }

  /** The entries of a mapping whose keys are data. */
  entries(): [string, Field][] {
    const value = this.typed<Record<string, unknown>>('a mapping', isMapping);
    return Object.entries(value ?? {}).map(([name, child]) => [name, new Field(child, [...this.path, name], this.sink)]);
  }

  stringMap(): Record<string, string> {
    const pairs = this.entries().map(([name, field]) => [name, field.string() ?? this.missingElement(field)]);
    return Object.fromEntries(pairs) as Record<string, string>;
  }

  /** Reads an object field by field; a field that `read` does not ask for is reported as `other` says, else as unknown. */
  object<T>(read: (fields: ObjectFields) => T, other: OtherFields = {}): T | undefined {
    const value = this.typed<Record<string, unknown>>('a mapping', isMapping);
    if (value === undefined) return undefined;
    const fields = new ObjectFields(value, this.path, this.sink);
    const result = read(fields);
    fields.reportRest(other);
    return result;
  }

  private missingElement(element: Field): string {
    if (!element.present) element.error('expected a string, got nothing');
    return '';
  }

  private typed<T>(expected: string, test: (value: unknown) => boolean): T | undefined {
    if (!this.present) return undefined;
    if (test(this.value)) return this.value as T;
    this.error(`expected ${expected}, got ${shown(this.value)}`);
    return undefined;
  }
}

/** The fields of one object; remembers which were asked for. */
export class ObjectFields {
  private readonly asked = new Set<string>();

  constructor(
    private readonly value: Record<string, unknown>,
    private readonly path: FieldPath,
    private readonly sink: ProblemSink,
  ) {}

  get(name: string): Field {
    this.asked.add(name);
    const value = Object.hasOwn(this.value, name) ? this.value[name] : undefined;
    return new Field(value, [...this.path, name], this.sink);
  }

  reportRest(other: OtherFields): void {
    for (const name of Object.keys(this.value)) {
      if (this.asked.has(name) || other.bookkeeping?.includes(name)) continue;
      const field = this.get(name);
      const asksForNothing = !field.present || (Array.isArray(field.value) && field.value.length === 0);
      const unsupported = lookUp(other.unsupported, name);
      const ignored = lookUp(other.ignored, name);
      if (unsupported !== undefined) {
        field.error(`is not supported: ${unsupported}`);
      } else if (ignored !== undefined) {
        if (!asksForNothing) field.warning(`is ignored: ${ignored}`);
      } else {
        field.error('is not a field of this object');
      }
    }
  }
}

/** `spec.containers[1].env[0]`; a key that is not a plain name stands in brackets: `metadata.labels["a.b/c"]`. */
export function formatPath(path: FieldPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    if (!/^[A-Za-z0-9_-]+$/.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

function isMapping(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function lookUp(names: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  return names !== undefined && Object.hasOwn(names, name) ? names[name] : undefined;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isMapping(value)) return 'a mapping';
  return JSON.stringify(value) ?? 'nothing';
}
