import {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  SecurityProfile,
  SecurityProfile_ProfileType,
  SupplementalGroupsPolicy,
  type SELinuxOption,
} from '@criquet/cri-api';
import { join } from 'node:path';
import { allContainers } from '../manifest/check-references.js';
import type { Container, ContainerSecurityContext, Pod, SecurityProfile as Profile, SeLinuxOptions } from '../manifest/pod.js';
import { MASKED_PATHS, READONLY_PATHS } from './proc-paths.js';
import { containerNamespaceOptions, namespaceOptions } from './namespaces.js';

/** The user that an image asks for (CRI Image.uid and Image.username). */
export interface ImageUser {
  readonly uid: bigint | undefined;
  readonly username: string;
}

/** The container may not run as the user it would run as: `runAsNonRoot`. */
export class NonRootError extends Error {
  override readonly name = 'NonRootError';
}

export function sandboxSecurityContext(pod: Pod, seccompRoot: string): LinuxSandboxSecurityContext {
  const context = pod.spec.securityContext;
  return LinuxSandboxSecurityContext.fromPartial({
    namespaceOptions: namespaceOptions(pod),
    // A sandbox must be able to hold the most privileged of its containers.
    privileged: allContainers(pod).some((container) => container.securityContext.privileged === true),
    // The kubelet runs the sandbox itself under the runtime's default profile, whatever the containers say.
    seccomp: profile({ type: 'RuntimeDefault', localhostProfile: undefined }, seccompRoot),
    ...ids(context),
    ...(context.seLinuxOptions === undefined ? {} : { selinuxOptions: selinux(context.seLinuxOptions) }),
    supplementalGroups: supplementalGroups(pod),
    supplementalGroupsPolicy: groupsPolicy(pod),
  });
}

/**
 * The container's own settings over the pod's, as the kubelet merges them. Where neither names a user the image's is passed on.
 *
 * @throws NonRootError when `runAsNonRoot` is set and the user is root or cannot be told.
 */
export function containerSecurityContext(
  pod: Pod,
  container: Container,
  image: ImageUser,
  options: { readonly seccompRoot: string; readonly targetId: string | undefined },
): LinuxContainerSecurityContext {
  const effective = effectiveContext(pod, container);
  verifyNonRoot(container, effective, image);
  const fromImage = effective.runAsUser === undefined;
  const imageUid = fromImage && image.uid !== undefined ? { runAsUser: { value: image.uid } } : {};
  return LinuxContainerSecurityContext.fromPartial({
    ...ids(effective),
    ...imageUid,
    runAsUsername: fromImage ? image.username : '',
    ...(effective.capabilities === undefined
      ? {}
      : { capabilities: { addCapabilities: [...effective.capabilities.add], dropCapabilities: [...effective.capabilities.drop] } }),
    privileged: effective.privileged ?? false,
    readonlyRootfs: effective.readOnlyRootFilesystem ?? false,
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    namespaceOptions: containerNamespaceOptions(pod, container, options.targetId),
    ...(effective.seLinuxOptions === undefined ? {} : { selinuxOptions: selinux(effective.seLinuxOptions) }),
    supplementalGroups: supplementalGroups(pod),
    supplementalGroupsPolicy: groupsPolicy(pod),
    maskedPaths: effective.procMount === 'Unmasked' ? [] : [...MASKED_PATHS],
    readonlyPaths: effective.procMount === 'Unmasked' ? [] : [...READONLY_PATHS],
    // Without SeccompDefault the kubelet leaves a container without a profile unconfined.
    seccomp: profile(effective.seccompProfile ?? { type: 'Unconfined', localhostProfile: undefined }, options.seccompRoot),
    ...(effective.appArmorProfile === undefined ? {} : { apparmor: apparmor(effective.appArmorProfile) }),
  });
}

function effectiveContext(pod: Pod, container: Container): ContainerSecurityContext {
  const outer = pod.spec.securityContext;
  const own = container.securityContext;
  return {
    ...own,
    runAsUser: own.runAsUser ?? outer.runAsUser,
    runAsGroup: own.runAsGroup ?? outer.runAsGroup,
    runAsNonRoot: own.runAsNonRoot ?? outer.runAsNonRoot,
    seccompProfile: own.seccompProfile ?? outer.seccompProfile,
    appArmorProfile: own.appArmorProfile ?? outer.appArmorProfile,
    seLinuxOptions: own.seLinuxOptions ?? outer.seLinuxOptions,
  };
}

function verifyNonRoot(container: Container, effective: ContainerSecurityContext, image: ImageUser): void {
  if (effective.runAsNonRoot !== true) return;
  const reject = (reason: string) => {
    throw new NonRootError(`container ${container.name} has runAsNonRoot and ${reason}`);
  };
  if (effective.runAsUser === 0) reject('runAsUser 0');
  if (effective.runAsUser !== undefined) return;
  if (image.uid === 0n) reject('its image runs as root');
  if (image.uid === undefined && image.username !== '') {
    reject(`its image names the user ${JSON.stringify(image.username)}, which may be root: set runAsUser`);
  }
  if (image.uid === undefined && image.username === '') reject('its image names no user: set runAsUser');
}

function ids(context: { runAsUser: number | undefined; runAsGroup: number | undefined }) {
  return {
    ...(context.runAsUser === undefined ? {} : { runAsUser: { value: BigInt(context.runAsUser) } }),
    ...(context.runAsGroup === undefined ? {} : { runAsGroup: { value: BigInt(context.runAsGroup) } }),
  };
}

/** fsGroup first: files of volumes belong to it. */
function supplementalGroups(pod: Pod): bigint[] {
  const { fsGroup, supplementalGroups } = pod.spec.securityContext;
  return [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups].map(BigInt);
}

function groupsPolicy(pod: Pod): SupplementalGroupsPolicy {
  const strict = pod.spec.securityContext.supplementalGroupsPolicy === 'Strict';
  return strict ? SupplementalGroupsPolicy.Strict : SupplementalGroupsPolicy.Merge;
}

function profile(source: Profile, seccompRoot: string): SecurityProfile {
  return SecurityProfile.fromPartial({
    profileType: SecurityProfile_ProfileType[source.type],
    localhostRef: source.localhostProfile === undefined ? '' : join(seccompRoot, source.localhostProfile),
  });
}

function apparmor(source: Profile): SecurityProfile {
  return SecurityProfile.fromPartial({
    profileType: SecurityProfile_ProfileType[source.type],
    localhostRef: source.localhostProfile ?? '',
  });
}

function selinux(options: SeLinuxOptions): SELinuxOption {
  return { user: options.user, role: options.role, type: options.type, level: options.level };
}
