export interface ContainerdVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** `2.1.9`, `v2.4.2`, `1.7.24~ds1`, `2.1.9+unknown`; nothing for a build without a version, for example `(devel)`. */
export function parseContainerdVersion(text: string): ContainerdVersion | undefined {
  const [, major, minor, patch] = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text.trim()) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch ?? 0) };
}

/** Why this version cannot serve; nothing when it can. The oldest that can is 2.1. */
export function versionProblem({ major, minor }: ContainerdVersion): string | undefined {
  if (major > 2 || (major === 2 && minor >= 1)) return undefined;
  const lack =
    major < 1 || (major === 1 && minor < 7)
      ? 'it has no Transfer service'
      : major === 1
        ? 'its Transfer service cannot use hosts.toml'
        : 'it is too old';
  return `${lack}; 2.1 or newer is needed`;
}
