import { matchesGlob } from './glob.js';

/** The annotations whose names match one of the globs. */
export function passthroughAnnotations(
  annotations: Readonly<Record<string, string>>,
  globs: readonly string[],
): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => globs.some((glob) => matchesGlob(glob, name))));
}
