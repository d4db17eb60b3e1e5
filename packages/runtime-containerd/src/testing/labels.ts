import { invalidArgument } from './fake-status.js';

type Labels = Record<string, string>;

/** containerd's limit of one label, key and value together (pkg/labels). */
const MAX_LABEL_BYTES = 4096;

/** What containerd keeps of labels: none with an empty value. @throws FakeStatus INVALID_ARGUMENT for one that is too long */
export function storedLabels(labels: Readonly<Labels>): Labels {
  for (const [key, value] of Object.entries(labels)) {
    const length = Buffer.byteLength(key) + Buffer.byteLength(value);
    if (length > MAX_LABEL_BYTES) {
      throw invalidArgument(`label key and value length (${length} bytes) greater than maximum size (${MAX_LABEL_BYTES} bytes), key: ${key.slice(0, 64)}`);
    }
  }
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''));
}

/** The labels after an update under a field mask of `labels` and `labels.KEY`. @returns undefined when the mask names no labels */
export function maskedLabels(current: Readonly<Labels>, given: Readonly<Labels>, mask: readonly string[]): Labels | undefined {
  let labels: Labels | undefined;
  for (const path of mask) {
    if (path === 'labels') labels = { ...given };
    if (path.startsWith('labels.')) {
      const key = path.slice('labels.'.length);
      labels = { ...(labels ?? current), [key]: given[key] ?? '' };
    }
  }
  return labels === undefined ? undefined : storedLabels(labels);
}

/** The paths of a mask that are not about labels. @throws FakeStatus INVALID_ARGUMENT for one that is not `allowed` */
export function otherPaths(mask: readonly string[], allowed: readonly string[], what: string): string[] {
  const others = mask.filter((path) => path !== 'labels' && !path.startsWith('labels.'));
  for (const path of others) {
    if (!allowed.some((name) => path === name || path.startsWith(`${name}.`))) throw invalidArgument(`cannot update ${JSON.stringify(path)} field on ${JSON.stringify(what)}`);
  }
  return others;
}
