import type { KubernetesObject } from '../../harness/kubernetes/kubectl.js';

/** Images of the suites' registry. */
export const AGNHOST = 'registry.k8s.io/e2e-test-images/agnhost:2.66.1';
export const EARLIER_AGNHOST = 'registry.k8s.io/e2e-test-images/agnhost:2.55';
export const BUSYBOX = 'registry.k8s.io/e2e-test-images/busybox:1.37.0-2';

/** Fields of a Container or a PodSpec, as they are written. */
export type Fields = Readonly<Record<string, unknown>>;

/** A container of BusyBox that runs a script of its shell. */
export function script(text: string, fields: Fields = {}): Fields {
  return { name: 'main', image: BUSYBOX, command: ['sh', '-c', text], ...fields };
}

/** A script that goes on until the container is stopped, which takes it no time. */
export const FOR_EVER = 'trap exit TERM; while :; do sleep 0.2; done';

/** A container of agnhost's web server: `/hostname`, `/clientip`, `/echo?msg=`. */
export function webServer(fields: Fields = {}): Fields {
  return {
    name: 'main',
    image: AGNHOST,
    args: ['netexec', '--http-port=8080'],
    readinessProbe: { httpGet: { path: '/hostname', port: 8080 }, periodSeconds: 1 },
    ...fields,
  };
}

export function podSpec(container: Fields, fields: Fields = {}): Fields {
  return { terminationGracePeriodSeconds: 1, containers: [container], ...fields };
}

/** A pod of one container, with a label `app` of its name. */
export function pod(name: string, container: Fields, fields: Fields = {}): KubernetesObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } }, spec: podSpec(container, fields) };
}

/** A Deployment whose pods have a label `app` of its name. */
export function deployment(name: string, replicas: number, container: Fields, fields: Fields = {}): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: podSpec(container, fields) },
    },
  };
}

/** A Service of the pods with that label `app`; port 80 leads to their 8080. */
export function service(name: string, fields: Fields = {}): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }], ...fields },
  };
}

/** What the checks read of a Pod. */
export interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly nodeName: string; readonly containers: readonly { readonly image: string }[] };
  readonly status: {
    readonly phase: string;
    readonly podIP: string;
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses: readonly {
      readonly name: string;
      readonly ready: boolean;
      readonly restartCount: number;
      readonly containerID: string;
      readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
    }[];
  };
}

export interface List<T> {
  readonly items: readonly T[];
}
