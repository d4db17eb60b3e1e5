export interface ConfTemplateValues {
  /** The first pod CIDR. */
  readonly podCidr: string;
  /** All of them. */
  readonly podCidrRanges: readonly string[];
  /** Default routes of the address families in use. */
  readonly routes: readonly string[];
}

/** From the kubelet's comma-separated pod CIDRs (CRI NetworkConfig.pod_cidr) to a template's values. Throws TypeError for what is no CIDR. */
export function confTemplateValues(_podCidr: string): ConfTemplateValues {
  throw new Error('to follow');
}

/** Renders containerd's `conf_template` language. Throws CniConfigError naming the line, also when the outcome is no valid list. */
export function renderConfTemplate(_template: string, _values: ConfTemplateValues, _file?: string): string {
  throw new Error('to follow');
}

/** Writes a rendered list so that a reader sees the old file or the new one. Makes `dir` where it is absent. Resolves to the path. */
export function writeConfList(_dir: string, _fileName: string, _conflist: string): Promise<string> {
  throw new Error('to follow');
}
