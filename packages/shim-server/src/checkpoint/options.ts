import { invalidArgument } from '../errors.js';

/** CRI `options` of CheckpointPod and RestorePod: criquet knows none, and one that is not known must not be ignored. */
export function refuseOptions(options: Readonly<Record<string, string>>): void {
  const [name] = Object.keys(options);
  if (name !== undefined) throw invalidArgument('options', `${JSON.stringify(name)} is not known; there are none`);
}
