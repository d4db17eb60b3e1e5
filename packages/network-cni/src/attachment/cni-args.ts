export interface KubernetesPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly sandboxId: string;
}

/**
 * CNI_ARGS of a pod with the keys that containerd and CRI-O give and Kubernetes' plugins read. IgnoreUnknown lets the other plugins
 * accept keys that they do not know. Throws TypeError for a value that would break the list apart.
 */
export function kubernetesCniArgs(pod: KubernetesPod): Array<[key: string, value: string]> {
  const args: Array<[string, string]> = [
    ['IgnoreUnknown', '1'],
    ['K8S_POD_NAMESPACE', pod.namespace],
    ['K8S_POD_NAME', pod.name],
    ['K8S_POD_INFRA_CONTAINER_ID', pod.sandboxId],
    ['K8S_POD_UID', pod.uid],
  ];
  const fault = cniArgsFault(args);
  if (fault !== undefined) throw new TypeError(fault);
  return args;
}

/** What is wrong with a list of args; undefined when nothing is. */
export function cniArgsFault(args: ReadonlyArray<readonly [string, string]>): string | undefined {
  for (const [key, value] of args) {
    if (key === '' || /[;=\0]/.test(key)) return `CNI_ARGS: invalid key ${JSON.stringify(key)}`;
    if (/[;=\0]/.test(value)) return `CNI_ARGS: the value of ${key} contains ";", "=" or NUL: ${JSON.stringify(value)}`;
  }
  return undefined;
}

/** The form of the environment variable: `FOO=BAR;ABC=123`. */
export function formatCniArgs(args: ReadonlyArray<readonly [string, string]>): string {
  return args.map(([key, value]) => `${key}=${value}`).join(';');
}
