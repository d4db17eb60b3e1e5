import { Lexer, parse, Parser, type Tags } from 'yaml';

/** Of tokens that are not at their end; far above any real document. */
const MAX_DEPTH = 100;

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
 * @throws Error saying where the text is no YAML, or where an alias stands for what it is in.
 */
export function readGoDocument(text: string, keys: GoDocumentKeys): unknown {
  const known = new Map(keys.known.map((name) => [name.toLowerCase(), name]));
  checkDepth(text);
  const value = readYaml(text);
  return spell(value, { known, free: new Set(keys.free ?? []), within: [], path: [] });
}

/** @throws Error that says what is wrong and where, without the line: it may hold a secret */
function readYaml(text: string): unknown {
  try {
    return parse(text, { version: '1.1', customTags: withoutTimes, logLevel: 'error' });
  } catch (error) {
    throw new Error(((error as Error).message.split('\n')[0] ?? '').replace(/:$/, ''), { cause: error });
  }
}

/** Composing a document takes stack for each level, and a process whose stack is used up may not get as far as an error. */
function checkDepth(text: string): void {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) void token;
    if (parser.stack.length > MAX_DEPTH) throw new Error('is nested too deeply');
  }
}

function withoutTimes(tags: Tags): Tags {
  return tags.filter((tag) => {
    if (typeof tag === 'string') return true;
    return !('format' in tag && tag.format === 'TIME') && tag.tag !== 'tag:yaml.org,2002:timestamp';
  });
}

interface Spelling {
  readonly known: ReadonlyMap<string, string>;
  readonly free: ReadonlySet<string>;
  /** What the value is in, the document first. */
  readonly within: readonly object[];
  /** Where the value is. */
  readonly path: readonly string[];
}

function spell(value: unknown, spelling: Spelling, asWritten = false): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { known, free, within, path } = spelling;
  if (within.includes(value)) throw new Error(`${path.join('.')}: an alias goes round in a circle`);
  const below = (name: string): Spelling => ({ ...spelling, within: [...within, value], path: [...path, name] });
  if (Array.isArray(value)) return value.map((item, index) => spell(item, below(String(index))));
  const entries = Object.entries(value).flatMap(([written, child]): [string, unknown][] => {
    if (child === null) return [];
    const name = asWritten ? written : (known.get(written.toLowerCase()) ?? written);
    return [[name, spell(child, below(name), !asWritten && free.has(name))]];
  });
  return Object.fromEntries(entries);
}
