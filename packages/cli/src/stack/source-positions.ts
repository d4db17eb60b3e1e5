import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The file of this module, which in a bundle is that of the whole program. */
const FILE = fileURLToPath(import.meta.url);

/** A source map is some megabytes: the first error reads it, and it goes when memory is wanted. */
let kept: WeakRef<SourceMap> | undefined;

/**
 * Puts the positions of the sources into a stack trace of the bundle, as `packages/shim-server/src/state/record-store.ts:81`. What the source map
 * says nothing of stays, and so does everything where there is no map. Node's own `--enable-source-maps` would read the map at every start.
 */
export function withSourcePositions(stack: string): string {
  if (!stack.includes(FILE)) return stack;
  const map = sourceMap();
  if (map === undefined) return stack;
  return stack.split(FILE).reduce((before, after) => {
    const [position, line, column] = /^:(\d+):(\d+)/.exec(after) ?? [];
    if (position === undefined) return `${before}${FILE}${after}`;
    const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
    // An entry without a source is empty.
    if (!('originalSource' in entry) || entry.originalSource === undefined) return `${before}${FILE}${after}`;
    return `${before.replace(/file:\/\/$/, '')}${entry.originalSource}:${entry.originalLine + 1}${after.slice(position.length)}`;
  });
}

function sourceMap(): SourceMap | undefined {
  const present = kept?.deref();
  if (present !== undefined) return present;
  try {
    const map = new SourceMap(JSON.parse(readFileSync(`${FILE}.map`, 'utf8')) as SourceMapPayload);
    kept = new WeakRef(map);
    return map;
  } catch {
    return undefined;
  }
}
