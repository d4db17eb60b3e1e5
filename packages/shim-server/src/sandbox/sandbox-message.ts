import { PodSandboxState, type PodSandbox, type PodSandboxStatus } from '@criquet/cri-api';
import type { SandboxRecord } from '../state/sandbox-record.js';

/** CRI PodSandboxState of a record. */
export function sandboxState(sandbox: SandboxRecord): PodSandboxState {
  return sandbox.phase === 'ready' ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}

/** CRI PodSandbox, as ListPodSandbox gives it. */
export function podSandbox(sandbox: SandboxRecord): PodSandbox {
  const { metadata, labels, annotations } = sandbox.config;
  return {
    id: sandbox.id,
    metadata,
    state: sandboxState(sandbox),
    createdAt: sandbox.createdAt,
    labels,
    annotations,
    runtimeHandler: sandbox.runtimeHandler,
  };
}

/** CRI PodSandboxStatus; without an address once the network is detached, since another pod may have it by then. */
export function podSandboxStatus(sandbox: SandboxRecord): PodSandboxStatus {
  const { config } = sandbox;
  const [ip = '', ...additional] = sandbox.networkAttached ? sandbox.ips : [];
  return {
    id: sandbox.id,
    metadata: config.metadata,
    state: sandboxState(sandbox),
    createdAt: sandbox.createdAt,
    network: { ip, additionalIps: additional.map((address) => ({ ip: address })) },
    linux: { namespaces: { options: config.linux?.securityContext?.namespaceOptions } },
    labels: config.labels,
    annotations: config.annotations,
    runtimeHandler: sandbox.runtimeHandler,
  };
}
