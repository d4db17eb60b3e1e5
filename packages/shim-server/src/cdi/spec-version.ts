import type { CdiDocument } from './cdi-document.js';

/** The released versions of the CDI specification, oldest first. */
const VERSIONS = ['0.1.0', '0.2.0', '0.3.0', '0.4.0', '0.5.0', '0.6.0', '0.7.0', '0.8.0', '1.0.0', '1.1.0'];

/** A version's place among the released ones; -1 for one that is not known. */
export function versionIndex(version: string): number {
  return VERSIONS.indexOf(version.replace(/^v/, ''));
}

/** The version that brought the newest thing a document uses (the table of released versions in SPEC.md). */
export function requiredVersion(document: CdiDocument): string {
  const { devices } = document;
  const edits = [document.containerEdits, ...devices.map(({ containerEdits }) => containerEdits)];
  const rdt = edits.flatMap(({ intelRdt }) => intelRdt ?? []);
  if (edits.some(({ netDevices }) => netDevices.length > 0)) return '1.1.0';
  if (rdt.some(({ schemata, enableMonitoring }) => schemata !== undefined || enableMonitoring === true)) return '1.1.0';
  if (rdt.length > 0 || edits.some(({ additionalGids }) => additionalGids.length > 0)) return '0.7.0';
  if ([document, ...devices].some(({ annotations }) => Object.keys(annotations ?? {}).length > 0)) return '0.6.0';
  if (document.kind.slice(document.kind.indexOf('/')).includes('.')) return '0.6.0';
  if (devices.some(({ name }) => /^\d/.test(name))) return '0.5.0';
  if (edits.some(({ deviceNodes }) => deviceNodes.some(({ hostPath }) => hostPath !== undefined))) return '0.5.0';
  if (edits.some(({ mounts }) => mounts.some(({ type }) => type !== undefined))) return '0.4.0';
  return '0.3.0';
}
