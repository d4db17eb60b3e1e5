import { readFile } from 'node:fs/promises';
import { SecurityProfile_ProfileType as ProfileType, type LinuxContainerSecurityContext } from '@criquet/cri-api';
import { failedPrecondition, invalidArgument } from '../errors.js';
import { parseProfileString } from './profile-string.js';

/** The profile that containerd's CRI plugin loads under this name; here it is used where it is loaded. */
export const DEFAULT_APPARMOR_PROFILE = 'cri-containerd.apparmor.d';

const FIELD = 'config.linux.security_context.apparmor';
const LOADED_PROFILES = '/sys/kernel/security/apparmor/profiles';

/**
 * The AppArmor profile to run under, by name; undefined is unconfined.
 *
 * A container that names no profile gets the default one where the node has it loaded. The deprecated
 * `apparmor_profile` string counts where `apparmor` is absent.
 *
 * @param loadedProfiles the kernel's list, other in tests.
 * @throws FAILED_PRECONDITION where a profile is asked for and the node has no AppArmor, or has not loaded it.
 */
export async function resolveAppArmor(
  request: { securityContext: LinuxContainerSecurityContext | undefined; node: { apparmorEnabled: boolean } },
  loadedProfiles = LOADED_PROFILES,
): Promise<string | undefined> {
  const { securityContext: context, node } = request;
  const wanted = context?.apparmor ?? parseProfileString(`${FIELD}_profile`, context?.apparmorProfile ?? '');
  if (!node.apparmorEnabled) {
    if (wanted === undefined || wanted.profileType === ProfileType.Unconfined) return undefined;
    throw failedPrecondition(`${FIELD}: AppArmor is not supported by this node`);
  }
  const type = wanted?.profileType ?? ProfileType.RuntimeDefault;
  const name = (wanted?.localhostRef ?? '').replace(/^localhost\//, '');
  if (type !== ProfileType.Localhost && name !== '') {
    throw invalidArgument(`${FIELD}.localhost_ref`, 'belongs to profile type Localhost only');
  }
  if (type === ProfileType.Unconfined) return undefined;
  if (type === ProfileType.RuntimeDefault) {
    if (context?.privileged === true) return undefined;
    if (await isLoaded(DEFAULT_APPARMOR_PROFILE, loadedProfiles)) return DEFAULT_APPARMOR_PROFILE;
    if (wanted === undefined) return undefined;
    throw failedPrecondition(`${FIELD}: the default profile ${DEFAULT_APPARMOR_PROFILE} is not loaded on this node`);
  }
  if (type !== ProfileType.Localhost) throw invalidArgument(`${FIELD}.profile_type`, `unknown type ${type}`);
  if (name === '') throw invalidArgument(`${FIELD}.localhost_ref`, 'names no profile');
  if (!(await isLoaded(name, loadedProfiles))) {
    throw failedPrecondition(`${FIELD}: profile ${JSON.stringify(name)} is not loaded on this node`);
  }
  return name;
}

/** One line a profile: `name (enforce)`. */
async function isLoaded(name: string, list: string): Promise<boolean> {
  const text = await readFile(list, 'utf8');
  return text.split('\n').some((line) => line.startsWith(`${name} (`));
}
