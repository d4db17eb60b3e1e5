import { join, relative } from 'node:path';
import { decode, encode, type SourceMapMappings, type SourceMapSegment } from '@jridgewell/sourcemap-codec';

/** A source map, version 3. */
export interface SourceMapDocument {
  readonly version: 3;
  readonly sources: readonly string[];
  readonly mappings: string;
  readonly names: readonly string[];
}

/** This workspace's own modules, but for the generated ones. */
const OWN_SOURCE = /^packages\/[^/]+\/src\/(?!.*\bgen\/)/;

/**
 * What stack traces need of a source map, and no more, since a whole one takes 70 MB of a daemon that reads it: where lines of this workspace's own
 * modules begin. Generated modules and dependencies have no positions in it.
 *
 * @param places.root the checkout, which sources are named from
 * @param places.directory that of the map
 */
export function compactMap(map: SourceMapDocument, { root, directory }: { root: string; directory: string }): SourceMapDocument {
  const own = new Map<number, number>();
  const sources: string[] = [];
  map.sources.forEach((source, index) => {
    const path = relative(root, join(directory, source));
    if (OWN_SOURCE.test(path)) own.set(index, sources.push(path) - 1);
  });
  return { version: 3, sources, names: [], mappings: encode(firstsOfLines(decode(map.mappings), own)) };
}

/** Segments where another line, or what has no position, begins. */
function firstsOfLines(mappings: SourceMapMappings, own: ReadonlyMap<number, number>): SourceMapMappings {
  let [lastSource, lastLine] = [-1, -1];
  return mappings.map((segments) => {
    const kept: SourceMapSegment[] = [];
    for (const segment of segments) {
      const source = segment.length === 1 ? -1 : (own.get(segment[1]) ?? -1);
      const line = segment.length === 1 || source === -1 ? -1 : segment[2];
      if (source === lastSource && line === lastLine) continue;
      [lastSource, lastLine] = [source, line];
      kept.push(source === -1 ? [segment[0]] : [segment[0], source, line, 0]);
    }
    return kept;
  });
}
