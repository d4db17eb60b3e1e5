/** What identifies and parametrises one attachment (SPEC.md section 3, "Attachment Parameters"). */
export interface Attachment {
  /** CNI_CONTAINERID. */
  readonly containerId: string;
  /** CNI_NETNS: absolute path of the netns; empty once the netns is gone (DEL only). */
  readonly netns: string;
  /** CNI_IFNAME. */
  readonly ifName: string;
  /** CNI_ARGS in order. */
  readonly args: ReadonlyArray<readonly [key: string, value: string]>;
  /** Capability arguments by capability name; a plugin sees those it declares. */
  readonly capabilityArgs: Readonly<Record<string, unknown>>;
}
