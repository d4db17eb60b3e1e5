import type { RuntimeSpec, SpecMount } from '@criquet/runtime-containerd';
import { invalidArgument } from '../errors.js';
import { podHostname } from '../pod-files/hostname.js';
import { sandboxAnnotations } from './annotations.js';
import { cgroupPath } from './cgroup-path.js';
import { OCI_VERSION } from './container-spec.js';
import { defaultMounts } from './default-mounts.js';
import { sandboxDeviceRules } from './devices.js';
import type { SandboxSpecInput } from './inputs.js';
import { hasHostIpc, hasHostNetwork, sandboxNamespaces } from './namespaces.js';
import { oomScoreAdj, SANDBOX_OOM_SCORE_ADJ } from './oom-score.js';
import { DEFAULT_PATH } from './process.js';
import { sandboxUser } from './resolve-user.js';
import { selinuxLabels } from './selinux.js';
import { sandboxSysctls } from './sysctls.js';
import { checkMapped, idMappings, podUserNamespace } from './user-namespace.js';

/** The command of the built-in pause. */
const PAUSE_ARGS = ['/pause'];
/** The kernel's least: pause only waits. */
const SANDBOX_CPU_SHARES = 2;

/** What a process has no business with in /proc and /sys; the kubelet sends the like for ordinary containers. */
const MASKED_PATHS = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
];
const READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/**
 * The OCI spec of a pod's pause process: it holds the pod's namespaces and carries its sysctls and host name. Its root is
 * read-only; it has no capability and no new privileges.
 *
 * @throws INVALID_ARGUMENT or FAILED_PRECONDITION naming the CRI field that cannot be carried out.
 */
export function buildSandboxSpec(input: SandboxSpecInput): RuntimeSpec {
  const { config, node } = input;
  const context = config.linux?.securityContext;
  const labels = selinuxLabels('config.linux.security_context.selinux_options', {
    options: context?.selinuxOptions,
    level: input.selinuxLevel,
    privileged: context?.privileged === true,
    node,
  });
  const hostNetwork = hasHostNetwork(config);
  const userns = podUserNamespace(config);
  const user = input.user ?? sandboxUser(context);
  if (userns !== undefined) checkMapped(userns, user);
  return {
    ociVersion: OCI_VERSION,
    process: {
      user,
      args: pauseArgs(input),
      env: [DEFAULT_PATH, ...(input.imageConfig?.Env ?? [])],
      cwd: input.imageConfig?.WorkingDir || '/',
      capabilities: { bounding: [], effective: [], permitted: [] },
      noNewPrivileges: true,
      ...(input.apparmorProfile !== undefined && { apparmorProfile: input.apparmorProfile }),
      oomScoreAdj: oomScoreAdj('sandbox', SANDBOX_OOM_SCORE_ADJ, node),
      ...(labels.process !== undefined && { selinuxLabel: labels.process }),
    },
    root: { path: 'rootfs', readonly: true },
    // In the node's UTS namespace a host name would be the node's.
    ...(!hostNetwork &&
      config.hostname !== '' && { hostname: podHostname(config.hostname, hostNetwork, node.hostname) }),
    // A network namespace has one sysfs super block, and the first mount decides whether it can be written to at all: were it
    // read-only here, a privileged container's /sys would be too.
    mounts: [...defaultMounts({ sysfsWritable: context?.privileged === true, userns, hostNetwork }), ...podMounts(input.files)],
    annotations: { ...input.passthroughAnnotations, ...sandboxAnnotations(input.id, config, input.imageName ?? '') },
    linux: {
      ...(userns && { uidMappings: idMappings(userns.uids), gidMappings: idMappings(userns.gids) }),
      sysctl: sandboxSysctls(config.linux?.sysctls ?? {}, { hostNetwork, hostIpc: hasHostIpc(config), userns, node }),
      resources: { devices: sandboxDeviceRules(), cpu: { shares: SANDBOX_CPU_SHARES } },
      cgroupsPath: cgroupPath(config.linux?.cgroupParent ?? '', input.id, {
        driver: node.cgroupDriver,
        namespace: input.namespace ?? 'k8s.io',
      }),
      namespaces: sandboxNamespaces(config, input.netnsPath, input.usernsPath),
      ...(input.seccomp && { seccomp: input.seccomp }),
      maskedPaths: [...MASKED_PATHS],
      readonlyPaths: [...READONLY_PATHS],
      ...(labels.mount !== undefined && { mountLabel: labels.mount }),
    },
  };
}

function pauseArgs({ imageConfig }: SandboxSpecInput): string[] {
  if (imageConfig === undefined) return PAUSE_ARGS;
  const args = [...(imageConfig.Entrypoint ?? []), ...(imageConfig.Cmd ?? [])];
  if (args.length === 0) throw invalidArgument('sandbox_image', 'the image has no entrypoint and no cmd');
  return args;
}

function podMounts(files: SandboxSpecInput['files']): SpecMount[] {
  const bind = (source: string, destination: string): SpecMount => ({
    destination,
    type: 'bind',
    source,
    options: ['rbind', 'ro', 'nosuid', 'nodev', 'noexec'],
  });
  return [
    bind(files.shm, '/dev/shm'),
    ...(files.resolvConf === undefined ? [] : [bind(files.resolvConf, '/etc/resolv.conf')]),
  ];
}
