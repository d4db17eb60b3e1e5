import type { StaticPod } from '../harness/kubernetes/kubelet.js';

export const BUSYBOX = 'registry.k8s.io/e2e-test-images/busybox:1.29-2';
export const AGNHOST = 'registry.k8s.io/e2e-test-images/agnhost:2.66.1';

/** Fields of v1 Container by their names in it, as far as these suites use them. */
export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  readonly restartPolicyRules?: readonly unknown[];
  readonly env?: readonly unknown[];
  readonly ports?: readonly { readonly containerPort: number; readonly hostPort?: number; readonly name?: string }[];
  readonly resources?: Resources;
  readonly resizePolicy?: readonly { readonly resourceName: string; readonly restartPolicy: string }[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly lifecycle?: Readonly<Record<'postStart' | 'preStop', unknown>> | Readonly<Record<'postStart', unknown>> | Readonly<Record<'preStop', unknown>>;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
  readonly securityContext?: unknown;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
}

export interface Resources {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly recursiveReadOnly?: string;
  readonly mountPropagation?: string;
  readonly subPath?: string;
  readonly subPathExpr?: string;
}

/** v1 Probe. Kubernetes' default period is 10 s, so those of a test name theirs. */
export interface Probe {
  readonly exec?: { readonly command: readonly string[] };
  readonly tcpSocket?: { readonly port: number | string };
  readonly httpGet?: { readonly port: number | string; readonly path?: string };
  readonly grpc?: { readonly port: number; readonly service?: string };
  readonly periodSeconds: number;
  readonly failureThreshold?: number;
  readonly timeoutSeconds?: number;
  readonly initialDelaySeconds?: number;
}

/** Fields of v1 PodSpec by their names in it. */
export interface PodSpec {
  readonly containers: readonly ContainerSpec[];
  readonly initContainers?: readonly ContainerSpec[];
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  readonly terminationGracePeriodSeconds?: number;
  readonly volumes?: readonly { readonly name: string; readonly [source: string]: unknown }[];
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly hostUsers?: boolean;
  readonly shareProcessNamespace?: boolean;
  readonly hostname?: string;
  readonly hostAliases?: readonly { readonly ip: string; readonly hostnames: readonly string[] }[];
  readonly dnsPolicy?: string;
  readonly dnsConfig?: unknown;
  readonly securityContext?: unknown;
  readonly resources?: Resources;
}

/** A static pod as these suites write it. */
export interface Manifest extends StaticPod {
  readonly spec: PodSpec;
}

/** A pod of this name; it is killed a second after it was asked to end, unless its spec says otherwise. */
export function pod(name: string, spec: PodSpec, metadata: Readonly<Record<string, unknown>> = {}): Manifest {
  return { metadata: { name, ...metadata }, spec: { terminationGracePeriodSeconds: 1, ...spec } };
}

/** A container that runs a script of busybox's shell. */
export function shell(name: string, script: string, fields: Partial<ContainerSpec> = {}): ContainerSpec {
  return { name, image: BUSYBOX, command: ['sh', '-c', script], ...fields };
}

/** The end of a script that runs until the container is stopped, which it does at once. */
export const STAY = 'trap "exit 0" TERM; while :; do sleep 1000 & wait; done';
