import type { Quantity } from './quantity.js';

/**
 * A Kubernetes Pod (core/v1) with the API server's defaults filled in. Field names are Kubernetes'; an absent field is
 * undefined where its absence means something, else its default or an empty list.
 */
export interface Pod {
  readonly metadata: PodMetadata;
  readonly spec: PodSpec;
}

export interface PodMetadata {
  readonly name: string;
  /** Default: "default". */
  readonly namespace: string;
  /** Default: derived from namespace and name, so that the same pod has the same uid in every run. */
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';
export type DnsPolicy = 'ClusterFirst' | 'ClusterFirstWithHostNet' | 'Default' | 'None';

export interface PodSpec {
  readonly restartPolicy: RestartPolicy;
  /** Seconds between SIGTERM and SIGKILL. Default: 30. */
  readonly terminationGracePeriodSeconds: number;
  readonly hostNetwork: boolean;
  readonly hostPID: boolean;
  readonly hostIPC: boolean;
  readonly shareProcessNamespace: boolean;
  readonly hostname: string | undefined;
  readonly subdomain: string | undefined;
  readonly setHostnameAsFQDN: boolean;
  readonly dnsPolicy: DnsPolicy;
  readonly dnsConfig: PodDnsConfig | undefined;
  readonly hostAliases: readonly HostAlias[];
  /** Also the name of the runtime handler: there is no RuntimeClass object outside a cluster. */
  readonly runtimeClassName: string | undefined;
  readonly nodeName: string | undefined;
  readonly serviceAccountName: string | undefined;
  readonly securityContext: PodSecurityContext;
  readonly imagePullSecrets: readonly string[];
  readonly overhead: ResourceList;
  readonly volumes: readonly Volume[];
  readonly initContainers: readonly Container[];
  readonly containers: readonly Container[];
  readonly ephemeralContainers: readonly Container[];
}

export interface PodDnsConfig {
  readonly nameservers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly { readonly name: string; readonly value: string | undefined }[];
}

export interface HostAlias {
  readonly ip: string;
  readonly hostnames: readonly string[];
}

/** The part of a security context that a pod sets for all its containers and each container may override. */
export interface SharedSecurityContext {
  readonly runAsUser: number | undefined;
  readonly runAsGroup: number | undefined;
  readonly runAsNonRoot: boolean | undefined;
  readonly seccompProfile: SecurityProfile | undefined;
  readonly appArmorProfile: SecurityProfile | undefined;
  readonly seLinuxOptions: SeLinuxOptions | undefined;
}

export interface PodSecurityContext extends SharedSecurityContext {
  readonly fsGroup: number | undefined;
  readonly supplementalGroups: readonly number[];
  readonly supplementalGroupsPolicy: 'Merge' | 'Strict' | undefined;
  readonly sysctls: Readonly<Record<string, string>>;
}

export interface ContainerSecurityContext extends SharedSecurityContext {
  readonly privileged: boolean | undefined;
  readonly readOnlyRootFilesystem: boolean | undefined;
  readonly allowPrivilegeEscalation: boolean | undefined;
  readonly procMount: 'Default' | 'Unmasked' | undefined;
  readonly capabilities: { readonly add: readonly string[]; readonly drop: readonly string[] } | undefined;
}

export interface SecurityProfile {
  readonly type: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  readonly localhostProfile: string | undefined;
}

export interface SeLinuxOptions {
  readonly user: string;
  readonly role: string;
  readonly type: string;
  readonly level: string;
}

/** What a container is to its pod; a sidecar is an init container with `restartPolicy: Always`. */
export type ContainerKind = 'init' | 'sidecar' | 'container' | 'ephemeral';
export type ImagePullPolicy = 'Always' | 'IfNotPresent' | 'Never';

export interface Container {
  readonly kind: ContainerKind;
  readonly name: string;
  readonly image: string;
  /** Default: Always for the tag `latest` or none, else IfNotPresent. */
  readonly imagePullPolicy: ImagePullPolicy;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly env: readonly EnvVar[];
  readonly envFrom: readonly EnvFromSource[];
  readonly ports: readonly ContainerPort[];
  readonly resources: Resources;
  readonly volumeMounts: readonly VolumeMount[];
  readonly securityContext: ContainerSecurityContext;
  readonly lifecycle: Lifecycle;
  /** Default: /dev/termination-log. */
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: 'File' | 'FallbackToLogsOnError';
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
  /** Of an ephemeral container: the container whose process namespace it joins. */
  readonly targetContainerName: string | undefined;
}

/** One variable: `value`, or where the value comes from. */
export interface EnvVar {
  readonly name: string;
  readonly source: EnvSource;
}

export type EnvSource =
  | { readonly type: 'value'; readonly value: string }
  | { readonly type: 'field'; readonly fieldPath: string }
  | { readonly type: 'resource'; readonly resource: string; readonly containerName: string | undefined; readonly divisor: Quantity | undefined }
  | { readonly type: 'configMap' | 'secret'; readonly name: string; readonly key: string; readonly optional: boolean };

export interface EnvFromSource {
  readonly type: 'configMap' | 'secret';
  readonly name: string;
  readonly prefix: string;
  readonly optional: boolean;
}

export interface ContainerPort {
  readonly name: string | undefined;
  readonly containerPort: number;
  /** 0: not published on the host. */
  readonly hostPort: number;
  readonly hostIP: string;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
}

export type ResourceList = Readonly<Record<string, Quantity>>;

export interface Resources {
  readonly limits: ResourceList;
  readonly requests: ResourceList;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath: string;
  readonly subPathExpr: string;
  readonly readOnly: boolean;
  readonly recursiveReadOnly: boolean;
  readonly mountPropagation: 'None' | 'HostToContainer' | 'Bidirectional';
}

/** A hook that runs inside the container, or a pause. */
export type LifecycleHook =
  | { readonly type: 'exec'; readonly command: readonly string[] }
  | { readonly type: 'sleep'; readonly seconds: number };

export interface Lifecycle {
  readonly postStart: LifecycleHook | undefined;
  readonly preStop: LifecycleHook | undefined;
  /** `SIGUSR1`. */
  readonly stopSignal: string | undefined;
}

export type HostPathType =
  | ''
  | 'DirectoryOrCreate'
  | 'Directory'
  | 'FileOrCreate'
  | 'File'
  | 'Socket'
  | 'CharDevice'
  | 'BlockDevice';

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode: number | undefined;
}

export type VolumeSource =
  | { readonly type: 'emptyDir'; readonly memory: boolean; readonly sizeLimit: Quantity | undefined }
  | { readonly type: 'hostPath'; readonly path: string; readonly pathType: HostPathType }
  | {
      readonly type: 'configMap' | 'secret';
      readonly name: string;
      readonly items: readonly KeyToPath[] | undefined;
      readonly defaultMode: number;
      readonly optional: boolean;
    };

export interface Volume {
  readonly name: string;
  readonly source: VolumeSource;
}

/** A ConfigMap or Secret given in the same file. */
export interface ConfigObject {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  readonly namespace: string;
  /** A Secret's type, for example `kubernetes.io/dockerconfigjson`. */
  readonly type: string;
  readonly data: Readonly<Record<string, Buffer>>;
  /** Of a ConfigMap: what volumes show beside `data`, and variables do not. */
  readonly binaryData: Readonly<Record<string, Buffer>>;
}

/** Everything that one manifest file says. */
export interface Manifest {
  readonly pod: Pod;
  /** ConfigMaps of the pod's namespace by name. */
  readonly configMaps: ReadonlyMap<string, ConfigObject>;
  readonly secrets: ReadonlyMap<string, ConfigObject>;
}
