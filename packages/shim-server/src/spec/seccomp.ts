import { SecurityProfile_ProfileType as ProfileType, type SecurityProfile } from '@criquet/cri-api';
import type { LinuxSeccomp } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument } from '../errors.js';
import { parseProfileString } from './profile-string.js';
import { defaultSeccompProfile } from './seccomp-default-profile.js';
import { loadSeccompProfile } from './seccomp-file.js';

/** The seccomp fields that container and sandbox have in common, and what they are judged by. */
export interface SeccompRequest {
  seccomp: SecurityProfile | undefined;
  /** CRI's deprecated string, which counts where `seccomp` is absent. */
  seccompProfilePath: string;
  privileged: boolean;
}

const FIELD = 'config.linux.security_context.seccomp';

/**
 * The system call filter of a container or sandbox; undefined is unconfined, as is a container that names no profile and
 * every privileged one.
 *
 * @param capabilities the container's bounding set: the default profile allows what they are good for.
 * @throws FAILED_PRECONDITION where the kernel has no seccomp, or a profile file cannot be used: never less than asked for.
 */
export async function resolveSeccomp(
  request: SeccompRequest,
  capabilities: readonly string[],
  node: { seccompEnabled: boolean; arch: string },
): Promise<LinuxSeccomp | undefined> {
  if (request.privileged) return undefined;
  const profile = request.seccomp ?? parseProfileString(`${FIELD}_profile_path`, request.seccompProfilePath);
  if (profile === undefined || profile.profileType === ProfileType.Unconfined) {
    refuseReference(profile);
    return undefined;
  }
  if (!node.seccompEnabled) throw failedPrecondition(`${FIELD}: seccomp is not supported by this node's kernel`);
  switch (profile.profileType) {
    case ProfileType.RuntimeDefault:
      refuseReference(profile);
      return defaultSeccompProfile({ capabilities, arch: node.arch });
    case ProfileType.Localhost:
      return loadSeccompProfile(`${FIELD}.localhost_ref`, profile.localhostRef.replace(/^localhost\//, ''));
    default:
      throw invalidArgument(`${FIELD}.profile_type`, `unknown type ${profile.profileType}`);
  }
}

function refuseReference(profile: SecurityProfile | undefined): void {
  if (profile !== undefined && profile.localhostRef !== '') {
    throw invalidArgument(`${FIELD}.localhost_ref`, 'belongs to profile type Localhost only');
  }
}
