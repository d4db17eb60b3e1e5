import type { ContainerConfig, PodSandboxConfig } from '@criquet/cri-api';
import type { LinuxSeccomp } from '@criquet/runtime-containerd';
import { resolveAppArmor } from './apparmor.js';
import { buildCapabilities } from './capabilities.js';
import type { NodeFacts } from './node-facts.js';
import { resolveSeccomp } from './seccomp.js';

/** What `buildContainerSpec` wants of the security profiles: see `resolveSeccomp` and `resolveAppArmor` for the errors. */
export async function containerProfiles(
  config: ContainerConfig,
  node: NodeFacts,
): Promise<{ seccomp: LinuxSeccomp | undefined; apparmorProfile: string | undefined }> {
  const context = config.linux?.securityContext;
  const privileged = context?.privileged === true;
  const { bounding = [] } = buildCapabilities(context?.capabilities, { privileged, node });
  const [seccomp, apparmorProfile] = await Promise.all([
    resolveSeccomp(
      { seccomp: context?.seccomp, seccompProfilePath: context?.seccompProfilePath ?? '', privileged },
      bounding,
      node,
    ),
    resolveAppArmor(context, node),
  ]);
  return { seccomp, apparmorProfile };
}

/** The same for a pause process, which has no capabilities and, in CRI, no AppArmor profile of its own. */
export async function sandboxSeccomp(config: PodSandboxConfig, node: NodeFacts): Promise<LinuxSeccomp | undefined> {
  const context = config.linux?.securityContext;
  return resolveSeccomp(
    {
      seccomp: context?.seccomp,
      seccompProfilePath: context?.seccompProfilePath ?? '',
      privileged: context?.privileged === true,
    },
    [],
    node,
  );
}
