/** What can belong to a pod on a node, in the order in which it is taken away: what uses something goes before what it uses. */
export const HOLDING_KINDS = [
  'container',
  'sandbox',
  'task',
  'shim',
  'log-handle',
  'stream-token',
  'cni-attachment',
  'ipam-reservation',
  'mount',
  'netns',
  'userns',
  'fifos',
  'image-volumes',
  'snapshot',
  'lease',
  'declared-volumes',
  'checkpoint',
  'pod-files',
  'cgroup',
] as const;

export type HoldingKind = (typeof HOLDING_KINDS)[number];

/**
 * To whom a thing belongs: a sandbox or container by its id, or the daemon that made it by its instance, where it lasts no longer than that one.
 * `living` is whichever daemon lives. `nobody`: by what it is it can have no owner.
 */
export type Owner = { readonly object: string } | { readonly daemon: string } | { readonly daemon: 'living' } | { readonly nobody: true };

/** A thing on the node, and whose it says it is. Whether there still is such an owner is not known here. */
export interface Holding {
  readonly kind: HoldingKind;
  /** Names it among those of its kind: an id, a path, a key. */
  readonly name: string;
  readonly owner: Owner;
  /**
   * Whether nobody but criquet can have made it. What somebody else may have made as well counts as criquet's only where something that is
   * certain has the same owner.
   */
  readonly certain: boolean;
  /** Takes it away; what is gone already is fine. */
  remove(signal: AbortSignal): Promise<void>;
}

/** Where things of one kind are found. */
export interface HoldingSource {
  readonly kind: HoldingKind;
  list(signal: AbortSignal): Promise<Holding[]>;
}
