import { invalidArgument } from './fake-status.js';

/** Looks up a field of an object by its path; undefined is absent. */
export type Fields = (path: readonly string[]) => string | undefined;

type Selector = (fields: Fields) => boolean;

/**
 * containerd's filters (pkg/filters): each a comma-separated list of `fieldpath`, `fieldpath==value`, `!=` or `~=` that must
 * all hold; one of several filters is enough; none matches everything.
 */
export function parseFilters(filters: readonly string[]): Selector {
  if (filters.length === 0) return () => true;
  const parsed = filters.map((filter) => parse(filter));
  return (fields) => parsed.some((selectors) => selectors.every((selector) => selector(fields)));
}

/** For `labels` and other maps: the rest of the path, joined, is the key. */
export function mapField(path: readonly string[], map: Readonly<Record<string, string>>): string | undefined {
  return map[path.join('.')];
}

const FIELD = /^(?:"(?:[^"\\]|\\.)*"|[A-Za-z0-9_]+)/;
const OPERATOR = /^(==|!=|~=)/;
const VALUE = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,]+)/;
/** A regular expression may stand between slashes or bars. */
const REGEXP_VALUE = /^(?:\/((?:[^/\\]|\\.)*)\/|\|((?:[^|\\]|\\.)*)\|)(?=,|$)/;

function parse(filter: string): Selector[] {
  const selectors: Selector[] = [];
  let rest = filter;
  const take = (pattern: RegExp, what: string): string => {
    const [token] = pattern.exec(rest) ?? [];
    if (token === undefined) throw invalidArgument(`filters: parse error: [${filter}]: expected ${what} at ${JSON.stringify(rest)}`);
    rest = rest.slice(token.length);
    return token;
  };
  while (rest !== '') {
    const path = [unquote(take(FIELD, 'field or quoted'))];
    while (rest.startsWith('.')) {
      rest = rest.slice(1);
      path.push(unquote(take(FIELD, 'field or quoted')));
    }
    if (rest === '' || rest.startsWith(',')) selectors.push((fields) => fields(path) !== undefined);
    else selectors.push(comparison(path, take(OPERATOR, 'an operator ("=="|"!="|"~=")'), takeValue));
    if (rest === '') break;
    take(/^,/, 'a comma');
    if (rest === '') throw invalidArgument(`filters: parse error: [${filter}]: expected field or quoted`);
  }
  return selectors;

  function takeValue(regexp: boolean): string {
    const match = regexp ? REGEXP_VALUE.exec(rest) : null;
    if (match === null) return unquote(take(VALUE, 'value or quoted'));
    rest = rest.slice(match[0].length);
    return match[1] ?? match[2] ?? '';
  }
}

function comparison(path: readonly string[], operator: string, takeValue: (regexp: boolean) => string): Selector {
  const value = takeValue(operator === '~=');
  if (operator === '==') return (fields) => fields(path) === value;
  // In these two containerd takes an absent field as an empty one.
  if (operator === '!=') return (fields) => (fields(path) ?? '') !== value;
  const pattern = new RegExp(value);
  return (fields) => pattern.test(fields(path) ?? '');
}

function unquote(token: string): string {
  if (token.startsWith('"')) return JSON.parse(token) as string;
  if (token.startsWith("'")) return token.slice(1, -1);
  return token;
}
