import {
  SecurityProfile_ProfileType as ProfileType,
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
} from '@criquet/cri-api';
import { failedPrecondition, invalidArgument } from '../errors.js';
import { parseProfileString } from '../spec/profile-string.js';
import type { AppArmorProfiles } from './apparmor-profiles.js';
import { DEFAULT_APPARMOR_PROFILE } from './default-profile.js';

const FIELD = 'config.linux.security_context.apparmor';

/**
 * The AppArmor profile to run under, by name; undefined is unconfined.
 *
 * A container that names no profile gets the default one (kubernetes/kubernetes#51746), a sandbox that names none gets none, and
 * what is privileged never gets the default. The deprecated `apparmor_profile` counts where `apparmor` is absent.
 *
 * @param context a container's, or a sandbox's, which has no deprecated field.
 * @throws FAILED_PRECONDITION where a profile is asked for and AppArmor is not there, or the profile is not loaded and cannot be;
 * INVALID_ARGUMENT for a profile that is none.
 */
export async function resolveAppArmor(
  context: LinuxContainerSecurityContext | LinuxSandboxSecurityContext | undefined,
  profiles: AppArmorProfiles,
): Promise<string | undefined> {
  const ofContainer = context === undefined || 'apparmorProfile' in context;
  const deprecated = context !== undefined && 'apparmorProfile' in context ? context.apparmorProfile : '';
  const wanted = context?.apparmor ?? parseProfileString(`${FIELD}_profile`, deprecated);
  if (!profiles.enabled) {
    if (wanted === undefined || wanted.profileType === ProfileType.Unconfined) return undefined;
    throw failedPrecondition(`${FIELD}: AppArmor is not available on this node`);
  }
  const name = (wanted?.localhostRef ?? '').replace(/^localhost\//, '');
  if (wanted !== undefined && wanted.profileType !== ProfileType.Localhost && name !== '') {
    throw invalidArgument(`${FIELD}.localhost_ref`, 'belongs to profile type Localhost only');
  }
  switch (wanted?.profileType) {
    case undefined:
      return ofContainer && context?.privileged !== true ? await defaultWhereItCanBe(profiles) : undefined;
    case ProfileType.Unconfined:
      return undefined;
    case ProfileType.RuntimeDefault:
      if (context?.privileged === true) return undefined;
      await profiles.loadDefault();
      return DEFAULT_APPARMOR_PROFILE;
    case ProfileType.Localhost:
      if (name === '') throw invalidArgument(`${FIELD}.localhost_ref`, 'names no profile');
      if (await profiles.isLoaded(name)) return name;
      throw failedPrecondition(`${FIELD}: profile ${JSON.stringify(name)} is not loaded on this node`);
    default:
      throw invalidArgument(`${FIELD}.profile_type`, `unknown type ${wanted?.profileType}`);
  }
}

/** A node whose kernel has AppArmor and that lacks its programs runs what asks for nothing unconfined, as with containerd's plugin. */
async function defaultWhereItCanBe(profiles: AppArmorProfiles): Promise<string | undefined> {
  return (await profiles.canLoad()) ? profiles.loadDefault().then(() => DEFAULT_APPARMOR_PROFILE) : undefined;
}
