import { parse, type Tags } from 'yaml';

export interface GoDocumentKeys {
  /** The keys that the document's format knows. */
  readonly known: readonly string[];
  /** Of these, the ones whose table has keys of the user's. */
  readonly free?: readonly string[];
}

/**
 * Reads a YAML or JSON document of a format that Go programs define, the way they read it: YAML 1.1 (`0660` is octal), keys in
 * any case, null as good as absent. Times are no numbers of base 60: `0:1` is text.
 *
 * @returns plain objects whose known keys are spelt as in `keys`.
 * @throws Error saying where the text is no YAML.
 */
export function readGoDocument(text: string, keys: GoDocumentKeys): unknown {
  const known = new Map(keys.known.map((name) => [name.toLowerCase(), name]));
  const value: unknown = parse(text, { version: '1.1', customTags: withoutTimes, logLevel: 'error' });
  return spell(value, known, new Set(keys.free ?? []));
}

function withoutTimes(tags: Tags): Tags {
  return tags.filter((tag) => {
    if (typeof tag === 'string') return true;
    return !('format' in tag && tag.format === 'TIME') && tag.tag !== 'tag:yaml.org,2002:timestamp';
  });
}

function spell(value: unknown, known: ReadonlyMap<string, string>, free: ReadonlySet<string>, asWritten = false): unknown {
  if (Array.isArray(value)) return value.map((item) => spell(item, known, free));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([written, child]): [string, unknown][] => {
    if (child === null) return [];
    const name = asWritten ? written : (known.get(written.toLowerCase()) ?? written);
    return [[name, spell(child, known, free, !asWritten && free.has(name))]];
  });
  return Object.fromEntries(entries);
}
