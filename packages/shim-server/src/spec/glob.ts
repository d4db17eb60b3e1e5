/** One piece of a glob: a quoted character, a star, a question mark, a set, or a character that stands for itself. */
const TOKEN = /\\(.)|(\*)|(\?)|\[(\^?)((?:\\.|[^\]\\])+)\]|([^[\\*?])/suy;

/** Whether a glob can be read at all. */
export function isGlob(pattern: string): boolean {
  return expression(pattern) !== undefined;
}

/**
 * Whether the whole of `text` matches a glob as Go's `path.Match` reads it, by which containerd's plugin compares names of annotations: `*` and `?`
 * do not match a slash, `[a-z]` and `[^a-z]` are sets, `\` quotes. A glob that cannot be read matches nothing.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  return expression(pattern)?.test(text) === true;
}

function expression(pattern: string): RegExp | undefined {
  let source = '';
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < pattern.length) {
    const token = TOKEN.exec(pattern);
    if (token === null) return undefined;
    const [, quoted, star, question, not = '', set, literal] = token;
    if (star !== undefined) source += '[^/]*';
    else if (question !== undefined) source += '[^/]';
    else if (set !== undefined) {
      const members = setSource(set);
      if (members === undefined) return undefined;
      source += `[${not}${members}]`;
    } else source += (quoted ?? literal ?? '').replace(/[\\^$.*+?()[\]{}|/]/u, '\\$&');
  }
  return new RegExp(`^${source}$`, 'su');
}

/** `a-z0`, each character quoted or not; undefined for a range that lacks an end or goes backwards. */
function setSource(set: string): string | undefined {
  let source = '';
  for (const [whole, low = '', high = low] of set.matchAll(/(\\.|[^\\])(?:-(\\.|[^\\])?)?/gsu)) {
    const [from, to] = [low, high].map((end) => (end.startsWith('\\') ? end.slice(1) : end)) as [string, string];
    if (low === '-' || (whole.endsWith('-') && !whole.endsWith('\\-')) || from > to) return undefined;
    source += `${escapedInSet(from)}-${escapedInSet(to)}`;
  }
  return source;
}

function escapedInSet(character: string): string {
  return character.replace(/[\\^\]-]/u, '\\$&');
}
