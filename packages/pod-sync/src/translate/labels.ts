import type { Container, Pod } from '../manifest/pod.js';
import { containerHash, sandboxHash } from './pod-hash.js';

/** Labels by which the kubelet, crictl and log collectors know pods and containers. */
export const LABEL = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const;

/** Annotations in which the kubelet keeps what it must know of a container after its own restart. */
export const ANNOTATION = {
  hash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  terminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  ports: 'io.kubernetes.container.ports',
  type: 'io.kubernetes.container.type',
  /** Not the kubelet's: fingerprint of what a sandbox is made from; a pod from a file may change it. */
  sandboxHash: 'io.criquet.sandbox.hash',
  /** Not the kubelet's: the restart policy, so that a pod's phase can be told without its manifest. */
  restartPolicy: 'io.criquet.pod.restartPolicy',
  /** Not the kubelet's, which asks its own pod: whether an init container is a sidecar. */
  sidecar: 'io.criquet.container.sidecar',
} as const;

export function sandboxLabels(pod: Pod): Record<string, string> {
  return { ...pod.metadata.labels, ...podIdentity(pod) };
}

export function sandboxAnnotations(pod: Pod): Record<string, string> {
  return {
    ...pod.metadata.annotations,
    [ANNOTATION.sandboxHash]: sandboxHash(pod),
    [ANNOTATION.restartPolicy]: pod.spec.restartPolicy,
  };
}

export function containerLabels(pod: Pod, container: Container): Record<string, string> {
  return { ...podIdentity(pod), [LABEL.containerName]: container.name };
}

export function containerAnnotations(pod: Pod, container: Container, restartCount: number): Record<string, string> {
  const { preStop } = container.lifecycle;
  return {
    [ANNOTATION.hash]: containerHash(container),
    [ANNOTATION.restartCount]: String(restartCount),
    [ANNOTATION.terminationMessagePath]: container.terminationMessagePath,
    [ANNOTATION.terminationMessagePolicy]: container.terminationMessagePolicy,
    [ANNOTATION.terminationGracePeriod]: String(pod.spec.terminationGracePeriodSeconds),
    ...(preStop === undefined ? {} : { [ANNOTATION.preStopHandler]: JSON.stringify(handlerJson(preStop)) }),
    ...(container.ports.length === 0 ? {} : { [ANNOTATION.ports]: JSON.stringify(container.ports.map(portJson)) }),
    [ANNOTATION.type]: container.kind === 'sidecar' ? 'init' : container.kind,
    ...(container.kind === 'sidecar' ? { [ANNOTATION.sidecar]: 'true' } : {}),
  };
}

function podIdentity(pod: Pod): Record<string, string> {
  const { name, namespace, uid } = pod.metadata;
  return { [LABEL.podName]: name, [LABEL.podNamespace]: namespace, [LABEL.podUid]: uid };
}

/** The hook in Kubernetes' own form, so that a kubelet could read it too. */
function handlerJson(hook: NonNullable<Container['lifecycle']['preStop']>): object {
  return hook.type === 'exec' ? { exec: { command: hook.command } } : { sleep: { seconds: hook.seconds } };
}

function portJson(port: Container['ports'][number]): object {
  return {
    ...(port.name === undefined ? {} : { name: port.name }),
    ...(port.hostPort === 0 ? {} : { hostPort: port.hostPort }),
    containerPort: port.containerPort,
    protocol: port.protocol,
    ...(port.hostIP === '' ? {} : { hostIP: port.hostIP }),
  };
}
