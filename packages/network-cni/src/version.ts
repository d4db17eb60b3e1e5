/** The CNI specification version this package implements (SPEC.md, "Version"). */
export const CURRENT_CNI_VERSION = '1.1.0';

/** Every version this package speaks, oldest first. 0.1.0 is also what an absent `cniVersion` means. */
export const SUPPORTED_CNI_VERSIONS = ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;

export type CniVersion = (typeof SUPPORTED_CNI_VERSIONS)[number];

export function isCniVersion(text: string): text is CniVersion {
  return (SUPPORTED_CNI_VERSIONS as readonly string[]).includes(text);
}

/** Whether `version` is `minimum` or newer. */
export function isAtLeast(version: CniVersion, minimum: CniVersion): boolean {
  return SUPPORTED_CNI_VERSIONS.indexOf(version) >= SUPPORTED_CNI_VERSIONS.indexOf(minimum);
}
