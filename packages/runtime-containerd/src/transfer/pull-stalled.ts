/** A pull made no progress for as long as the caller allows, and was cancelled. */
export class PullStalled extends Error {
  override readonly name = 'PullStalled';

  constructor(
    readonly reference: string,
    /** The caller's limit in milliseconds. */
    readonly noProgressTimeoutMs: number,
    /** What was awaited: `resolve`, or containerd's names of manifests, configs and layers (`layer-sha256:…`). */
    readonly awaited: readonly string[],
  ) {
    super(`pull of ${reference}: no progress for ${noProgressTimeoutMs / 1000} s while waiting for ${awaited.join(', ')}`);
  }
}
