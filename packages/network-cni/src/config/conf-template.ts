import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseCidr } from '../result/ip-address.js';
import { renderGoTemplate, TemplateError } from './go-template.js';
import { CniConfigError } from './network-config.js';
import { parseConfigList } from './parse-config-list.js';

/** What a template can use, under containerd's names: `.PodCIDR`, `.PodCIDRRanges`, `.Routes`. */
export interface ConfTemplateValues {
  /** The first pod CIDR. */
  readonly podCidr: string;
  /** All of them. */
  readonly podCidrRanges: readonly string[];
  /** Default routes of the address families in use: `0.0.0.0/0`, `::/0`. */
  readonly routes: readonly string[];
}

/**
 * From the kubelet's pod CIDRs, separated by commas (CRI NetworkConfig.pod_cidr), to the values of a template. Throws TypeError for
 * what is no CIDR.
 */
export function confTemplateValues(podCidr: string): ConfTemplateValues {
  const podCidrRanges = podCidr.split(',').map((cidr) => cidr.trim());
  const families = podCidrRanges.map((cidr) => {
    const parsed = parseCidr(cidr);
    if (parsed === undefined) throw new TypeError(`pod_cidr: ${JSON.stringify(cidr)} is no CIDR`);
    return parsed.family;
  });
  return {
    podCidr: podCidrRanges[0] ?? '',
    podCidrRanges,
    routes: [...(families.includes(4) ? ['0.0.0.0/0'] : []), ...(families.includes(6) ? ['::/0'] : [])],
  };
}

/**
 * Renders a configuration list from a template in the language of containerd's `conf_template`; what of Go's text/template is
 * supported says renderGoTemplate. Throws CniConfigError naming the template's line, and when the outcome is no valid list.
 * @param file the template's path, for errors
 */
export function renderConfTemplate(template: string, values: ConfTemplateValues, file = '(template)'): string {
  let conflist: string;
  try {
    conflist = renderGoTemplate(template, {
      PodCIDR: values.podCidr,
      PodCIDRRanges: values.podCidrRanges,
      Routes: values.routes,
    });
  } catch (cause) {
    if (!(cause instanceof TemplateError)) throw cause;
    throw new CniConfigError(file, '', cause.message, { cause });
  }
  parseConfigList(conflist, file);
  return conflist;
}

/**
 * Writes a rendered list, mode 0644, so that whoever reads the directory sees the old file or the whole new one. Makes `dir` where it is
 * absent. Resolves to the file's path.
 */
export async function writeConfList(dir: string, fileName: string, conflist: string): Promise<string> {
  const path = join(dir, fileName);
  // an extension that no one takes for a configuration
  const temporary = join(dir, `.${fileName}.${process.pid}.tmp`);
  await mkdir(dir, { recursive: true });
  try {
    await writeFile(temporary, conflist, { mode: 0o644 });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return path;
}
