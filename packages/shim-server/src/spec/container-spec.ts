import type { RuntimeSpec, SpecLinux, SpecProcess } from '@criquet/runtime-containerd';
import { invalidArgument } from '../errors.js';
import { podHostname } from '../pod-files/hostname.js';
import { containerAnnotations } from './annotations.js';
import { baseCapabilities, withBaseSpec } from './base-spec.js';
import { buildCapabilities } from './capabilities.js';
import { cgroupPath } from './cgroup-path.js';
import type { ContainerSpecInput } from './inputs.js';
import { containerMounts } from './mount-order.js';
import { containerNamespaces, hasHostNetwork } from './namespaces.js';
import { oomScoreAdj } from './oom-score.js';
import { processArgs, processCwd, processEnv } from './process.js';
import { buildResources } from './resources.js';
import { selinuxLabels, type SelinuxLabels } from './selinux.js';
import { checkMapped, idMappings, podUserNamespace, type PodUserNamespace } from './user-namespace.js';

/** The version of the OCI runtime specification that the specs keep to: runc 1.1 and later, crun and others read it. */
export const OCI_VERSION = '1.1.0';

/**
 * The OCI spec of a container. Pure: whatever has to be read or looked up comes with the input, prepared by
 * `resolveUser`, `prepareMounts`, `resolveDevices`, `resolveSeccomp`, `resolveAppArmor`, `blockIoClass` and `rdtClass`.
 *
 * @throws INVALID_ARGUMENT or FAILED_PRECONDITION naming the CRI field that cannot be carried out.
 */
export function buildContainerSpec(input: ContainerSpecInput): RuntimeSpec {
  const context = input.config.linux?.securityContext;
  if (context?.privileged === true && input.sandboxConfig.linux?.securityContext?.privileged !== true) {
    throw invalidArgument('config.linux.security_context.privileged', 'needs a privileged pod sandbox');
  }
  const labels = containerLabels(input);
  const userns = podUserNamespace(input.sandboxConfig);
  if (userns !== undefined) checkMapped(userns, input.user);
  const linux = buildLinux(input, labels, userns);
  const spec: RuntimeSpec = {
    ociVersion: OCI_VERSION,
    process: buildProcess(input, labels),
    root: { path: 'rootfs', ...(context?.readonlyRootfs === true && { readonly: true }) },
    mounts: containerMounts({
      requested: input.mounts,
      files: input.files,
      volumes: input.volumes ?? [],
      privileged: context?.privileged === true,
      readonlyRootfs: context?.readonlyRootfs === true,
      cgroupWritable: input.handler?.cgroupWritable === true,
      ownCgroupNamespace: linux.namespaces?.some(({ type }) => type === 'cgroup') === true,
      cgroupMountOptions: input.node.cgroupMountOptions,
      userns,
      hostNetwork: hasHostNetwork(input.sandboxConfig),
    }),
    annotations: {
      ...input.passthroughAnnotations,
      ...containerAnnotations(input.sandboxId, input.sandboxConfig, {
        name: input.config.metadata?.name ?? '',
        imageName: input.imageName,
      }),
    },
    linux,
  };
  const base = input.handler?.baseSpec;
  return base === undefined ? spec : withBaseSpec(base, spec, { privileged: context?.privileged === true });
}

/** A container without SELinux options of its own has the pod's; the level is the pod's also where the others are not. */
function containerLabels(input: ContainerSpecInput): SelinuxLabels {
  const context = input.config.linux?.securityContext;
  const ofPod = input.sandboxConfig.linux?.securityContext?.selinuxOptions;
  return selinuxLabels('config.linux.security_context.selinux_options', {
    options: context?.selinuxOptions ?? ofPod,
    level: ofPod?.level || input.selinuxLevel,
    privileged: context?.privileged === true,
    node: input.node,
  });
}

function buildProcess(input: ContainerSpecInput, labels: SelinuxLabels): SpecProcess {
  const { config, imageConfig, node, policy } = input;
  const context = config.linux?.securityContext;
  const privileged = context?.privileged === true;
  return {
    ...(config.tty && { terminal: true }),
    user: input.user,
    args: processArgs(config, imageConfig),
    env: processEnv(imageConfig, config.envs, {
      hostname: podHostname(input.sandboxConfig.hostname, hasHostNetwork(input.sandboxConfig), node.hostname),
      tty: config.tty,
    }),
    cwd: processCwd(config, imageConfig),
    capabilities: buildCapabilities(context?.capabilities, {
      privileged,
      node,
      ambient: policy?.ambientCapabilities === true,
      defaults: baseCapabilities(input.handler?.baseSpec),
    }),
    ...(policy !== undefined && policy.rlimits.length > 0 && { rlimits: [...policy.rlimits] }),
    noNewPrivileges: context?.noNewPrivs === true,
    ...(input.apparmorProfile !== undefined && { apparmorProfile: input.apparmorProfile }),
    // Unset it would be inherited from the shim, which protects itself from the OOM killer.
    oomScoreAdj: oomScoreAdj('config.linux.resources.oom_score_adj', config.linux?.resources?.oomScoreAdj ?? 0n, node),
    ...(labels.process !== undefined && { selinuxLabel: labels.process }),
  };
}

function buildLinux(input: ContainerSpecInput, labels: SelinuxLabels, userns: PodUserNamespace | undefined): SpecLinux {
  const { config, node, sandboxConfig } = input;
  const context = config.linux?.securityContext;
  const privileged = context?.privileged === true;
  const resources = config.linux?.resources;
  return {
    ...(userns && { uidMappings: idMappings(userns.uids), gidMappings: idMappings(userns.gids) }),
    resources: {
      devices: input.devices.rules,
      ...(resources && buildResources('config.linux.resources', resources, node, input.policy)),
      ...(input.blockIo && { blockIO: input.blockIo }),
    },
    cgroupsPath: cgroupPath(sandboxConfig.linux?.cgroupParent ?? '', input.id, {
      driver: node.cgroupDriver,
      namespace: input.namespace ?? 'k8s.io',
    }),
    namespaces: containerNamespaces({
      sandboxConfig,
      options: context?.namespaceOptions,
      sandboxPid: input.sandboxPid,
      podNetnsPath: input.podNetnsPath,
      targetPid: input.targetPid,
      privileged,
      cgroup: node.cgroup,
    }),
    devices: input.devices.devices,
    ...(input.seccomp && { seccomp: input.seccomp }),
    ...(input.mounts.rootfsPropagation && { rootfsPropagation: input.mounts.rootfsPropagation }),
    maskedPaths: privileged ? [] : [...(context?.maskedPaths ?? [])],
    readonlyPaths: privileged ? [] : [...(context?.readonlyPaths ?? [])],
    ...(labels.mount !== undefined && { mountLabel: labels.mount }),
    ...(input.rdtClass !== undefined && { intelRdt: { closID: input.rdtClass } }),
  };
}
