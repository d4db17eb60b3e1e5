import { NamespaceMode, type NamespaceOption, type PodSandboxConfig } from '@criquet/cri-api';
import type { LinuxNamespace } from '@criquet/runtime-containerd';
import { invalidArgument } from '../errors.js';
import { checkSameUserNamespace, podUserNamespace } from './user-namespace.js';

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
 * of the pod never changes the node's. A user namespace is the one that owns the pod's network namespace; with host network, where
 * there is none, the runtime makes it.
 *
 * @throws INVALID_ARGUMENT for a user namespace that cannot be, or without a network namespace where one is needed.
 */
export function sandboxNamespaces(config: PodSandboxConfig, netnsPath: string | undefined, usernsPath?: string): LinuxNamespace[] {
  const options = optionsOf(config);
  const namespaces: LinuxNamespace[] = [{ type: 'mount' }];
  if (podUserNamespace(config) !== undefined) namespaces.push({ type: 'user', ...(usernsPath !== undefined && { path: usernsPath }) });
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
 * The namespaces of a container: mount of its own; user, network, UTS and IPC as the sandbox has them, whatever the container's
 * options say (but for the user namespace, which must be the sandbox's); PID by the container's own mode. On cgroup v2 an unprivileged container gets a cgroup namespace.
 *
 * @throws INVALID_ARGUMENT for the node's PID namespace in a pod that does not have it, or TARGET without `target_id`.
 */
export function containerNamespaces(input: ContainerNamespaceInput): LinuxNamespace[] {
  const field = 'config.linux.security_context.namespace_options';
  const { sandboxConfig, sandboxPid } = input;
  checkSameUserNamespace(sandboxConfig, input.options);
  const namespaces: LinuxNamespace[] = [{ type: 'mount' }];
  const join = (type: LinuxNamespace['type'], path: string): number => namespaces.push({ type, path });
  if (podUserNamespace(sandboxConfig) !== undefined) join('user', `/proc/${sandboxPid}/ns/user`);
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
