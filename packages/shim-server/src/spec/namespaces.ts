import { NamespaceMode, type NamespaceOption, type PodSandboxConfig, type UserNamespace } from '@criquet/cri-api';
import type { LinuxNamespace } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument } from '../errors.js';

const SANDBOX_FIELD = 'config.linux.security_context.namespace_options';

function optionsOf(config: PodSandboxConfig): NamespaceOption | undefined {
  return config.linux?.securityContext?.namespaceOptions;
}

/** Whether the pod lives in the node's network namespace, and with it in the node's UTS namespace. */
export function hasHostNetwork(config: PodSandboxConfig): boolean {
  return optionsOf(config)?.network === NamespaceMode.NODE;
}

/** Whether the pod shares the node's IPC namespace and `/dev/shm`. */
export function hasHostIpc(config: PodSandboxConfig): boolean {
  return optionsOf(config)?.ipc === NamespaceMode.NODE;
}

/**
 * The namespaces of a pause process. With host network it also stays in the node's UTS namespace, so that a host name
 * of the pod never changes the node's.
 *
 * @throws FAILED_PRECONDITION for user namespaces; INVALID_ARGUMENT without a network namespace where one is needed.
 */
export function sandboxNamespaces(config: PodSandboxConfig, netnsPath: string | undefined): LinuxNamespace[] {
  const options = optionsOf(config);
  refuseUserNamespace(SANDBOX_FIELD, options?.usernsOptions);
  const namespaces: LinuxNamespace[] = [{ type: 'mount' }];
  if (!hasHostNetwork(config)) {
    if (netnsPath === undefined) throw invalidArgument(`${SANDBOX_FIELD}.network`, 'the pod has no network namespace');
    namespaces.push({ type: 'network', path: netnsPath }, { type: 'uts' });
  }
  if (options?.pid !== NamespaceMode.NODE) namespaces.push({ type: 'pid' });
  if (!hasHostIpc(config)) namespaces.push({ type: 'ipc' });
  return namespaces;
}

export interface ContainerNamespaceInput {
  sandboxConfig: PodSandboxConfig;
  options: NamespaceOption | undefined;
  /** Of the pause process. */
  sandboxPid: number;
  podNetnsPath: string | undefined;
  targetPid: number | undefined;
  privileged: boolean;
  cgroup: 'v1' | 'v2';
}

/**
 * The namespaces of a container: mount of its own; network, UTS and IPC as the sandbox has them, whatever the container's
 * options say; PID by the container's own mode. On cgroup v2 an unprivileged container gets a cgroup namespace.
 *
 * @throws INVALID_ARGUMENT for the node's PID namespace in a pod that does not have it, or TARGET without `target_id`.
 */
export function containerNamespaces(input: ContainerNamespaceInput): LinuxNamespace[] {
  const field = 'config.linux.security_context.namespace_options';
  refuseUserNamespace(field, input.options?.usernsOptions);
  const { sandboxConfig, sandboxPid } = input;
  const namespaces: LinuxNamespace[] = [{ type: 'mount' }];
  const join = (type: LinuxNamespace['type'], path: string): number => namespaces.push({ type, path });
  if (!hasHostNetwork(sandboxConfig)) {
    join('network', input.podNetnsPath ?? `/proc/${sandboxPid}/ns/net`);
    join('uts', `/proc/${sandboxPid}/ns/uts`);
  }
  if (!hasHostIpc(sandboxConfig)) join('ipc', `/proc/${sandboxPid}/ns/ipc`);
  const nodePid = optionsOf(sandboxConfig)?.pid === NamespaceMode.NODE;
  switch (input.options?.pid ?? NamespaceMode.POD) {
    case NamespaceMode.CONTAINER:
      namespaces.push({ type: 'pid' });
      break;
    case NamespaceMode.TARGET:
      if (input.targetPid === undefined) throw invalidArgument(`${field}.target_id`, 'no running container to join');
      join('pid', `/proc/${input.targetPid}/ns/pid`);
      break;
    case NamespaceMode.NODE:
      if (!nodePid) throw invalidArgument(`${field}.pid`, "NODE needs a pod sandbox with the node's PID namespace");
      break;
    case NamespaceMode.POD:
      if (!nodePid) join('pid', `/proc/${sandboxPid}/ns/pid`);
      break;
    default:
      throw invalidArgument(`${field}.pid`, `unknown mode ${input.options?.pid}`);
  }
  if (input.cgroup === 'v2' && !input.privileged) namespaces.push({ type: 'cgroup' });
  return namespaces;
}

/** A kubelet asks for user namespaces only where the runtime handler says that it has them. */
function refuseUserNamespace(field: string, options: UserNamespace | undefined): void {
  if (options === undefined) return;
  if (options.mode === NamespaceMode.POD) {
    throw failedPrecondition(`${field}.userns_options: user namespaces are not available`);
  }
  if (options.mode !== NamespaceMode.NODE)
    throw invalidArgument(`${field}.userns_options.mode`, `unsupported mode ${options.mode}`);
  if (options.uids.length + options.gids.length > 0) {
    throw invalidArgument(`${field}.userns_options`, 'mappings need mode POD');
  }
}
