export interface KubernetesPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly sandboxId: string;
}

/** CNI_ARGS of a pod, as containerd and CRI-O give them. Throws TypeError for a value with `;` or `=`. */
export function kubernetesCniArgs(_pod: KubernetesPod): Array<[string, string]> {
  throw new Error('to follow');
}
