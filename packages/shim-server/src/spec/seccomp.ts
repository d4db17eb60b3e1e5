import {
  SecurityProfile_ProfileType as ProfileType,
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
} from '@criquet/cri-api';
import type { LinuxSeccomp } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument } from '../errors.js';
import { buildCapabilities } from './capabilities.js';
import { parseProfileString } from './profile-string.js';
import { defaultSeccompProfile } from './seccomp-default-profile.js';
import { loadSeccompProfile } from './seccomp-file.js';

/** Whose filter it is: a container's security context, or a sandbox's, which has no capabilities. */
export interface SeccompRequest {
  securityContext: LinuxContainerSecurityContext | LinuxSandboxSecurityContext | undefined;
  node: { seccompEnabled: boolean; arch: string; capabilities: readonly string[] };
}

const FIELD = 'config.linux.security_context.seccomp';

/**
 * The system call filter of a container or sandbox; undefined is unconfined, as is a container that names no profile and
 * every privileged one. The default profile allows more to a container with more capabilities. CRI's deprecated
 * `seccomp_profile_path` counts where `seccomp` is absent.
 *
 * @throws FAILED_PRECONDITION where the kernel has no seccomp, or a profile file cannot be used: never less than asked for;
 * INVALID_ARGUMENT for a path that is not absolute.
 */
export async function resolveSeccomp({ securityContext, node }: SeccompRequest): Promise<LinuxSeccomp | undefined> {
  if (securityContext === undefined || securityContext.privileged) return undefined;
  const profile =
    securityContext.seccomp ?? parseProfileString(`${FIELD}_profile_path`, securityContext.seccompProfilePath);
  if (profile === undefined) return undefined;
  const { profileType, localhostRef } = profile;
  if (profileType !== ProfileType.Localhost && localhostRef !== '') {
    throw invalidArgument(`${FIELD}.localhost_ref`, 'belongs to profile type Localhost only');
  }
  if (profileType === ProfileType.Unconfined) return undefined;
  if (!node.seccompEnabled) throw failedPrecondition(`${FIELD}: seccomp is not supported by this node's kernel`);
  switch (profileType) {
    case ProfileType.RuntimeDefault:
      return defaultSeccompProfile({ capabilities: boundingSet(securityContext, node), arch: node.arch });
    case ProfileType.Localhost:
      return loadSeccompProfile(`${FIELD}.localhost_ref`, localhostRef.replace(/^localhost\//, ''));
    default:
      throw invalidArgument(`${FIELD}.profile_type`, `unknown type ${profileType}`);
  }
}

function boundingSet(
  context: LinuxContainerSecurityContext | LinuxSandboxSecurityContext,
  node: SeccompRequest['node'],
): readonly string[] {
  if (!('capabilities' in context)) return [];
  return buildCapabilities(context.capabilities, { privileged: context.privileged, node }).bounding ?? [];
}
