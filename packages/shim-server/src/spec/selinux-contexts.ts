import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The contexts that a node's SELinux policy has for containers, each `user:role:type:level`. */
export interface SelinuxContexts {
  /** Of a process, for example `system_u:system_r:container_t:s0`. */
  process: string;
  /** Of its files, for example `system_u:object_r:container_file_t:s0`. */
  file: string;
  /** Of files that containers only read. */
  readOnlyFile: string;
}

/** Where a policy says so; other directories in tests only. */
export interface SelinuxPolicyPaths {
  /** Default `/usr/share/containers/selinux/contexts`, of the package container-selinux. */
  contexts?: string;
  /** Default `/etc/selinux`: `config` names the policy in use. */
  policies?: string;
}

/** undefined where the policy knows no containers: a context of it would be refused by the kernel. */
export async function readSelinuxContexts(paths: SelinuxPolicyPaths = {}): Promise<SelinuxContexts | undefined> {
  const { contexts = '/usr/share/containers/selinux/contexts', policies = '/etc/selinux' } = paths;
  const text = (await textOrNone(contexts)) ?? (await lxcContexts(policies)) ?? '';
  const { process, file, ro_file: readOnlyFile = file } = settings(text);
  if (process === undefined || file === undefined || readOnlyFile === undefined) return undefined;
  return { process, file, readOnlyFile };
}

/** The older place (selinux_lxc_contexts_path(3)). */
async function lxcContexts(policies: string): Promise<string | undefined> {
  const { SELINUXTYPE: type } = settings((await textOrNone(join(policies, 'config'))) ?? '');
  return type === undefined ? undefined : textOrNone(join(policies, type, 'contexts', 'lxc_contexts'));
}

/** Lines of `name = "value"`. */
function settings(text: string): Record<string, string | undefined> {
  const found: Record<string, string | undefined> = {};
  for (const line of text.split('\n')) {
    const [, name, value] = /^\s*(\w+)\s*=\s*"?([^"\s]+)"?\s*$/.exec(line) ?? [];
    if (name !== undefined) found[name] = value;
  }
  return found;
}

async function textOrNone(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}
