import type { Field, ObjectFields, OtherFields } from './field.js';
import { dnsLabel, dnsSubdomain } from './names.js';
import type { HostAlias, Pod, PodDnsConfig, PodMetadata, PodSpec } from './pod.js';
import { derivePodUid } from './pod-uid.js';
import { readContainers, readResourceList } from './read-container.js';
import { NO_POD_SECURITY_CONTEXT, readPodSecurityContext } from './read-security-context.js';
import { readVolumes } from './read-volumes.js';

const NO_SCHEDULER = 'there is no scheduler outside a cluster';
const NO_ACCOUNTS = 'there are no service accounts outside a cluster';

const SCHEDULING = [
  ...['nodeSelector', 'affinity', 'tolerations', 'topologySpreadConstraints', 'schedulerName', 'priority', 'priorityClassName'],
  ...['preemptionPolicy', 'schedulingGates'],
];

const SPEC_FIELDS: OtherFields = {
  unsupported: {
    resourceClaims: 'device claims need a cluster',
    resources: 'resources of a whole pod are not applied; set them on its containers',
    hostnameOverride: 'use hostname',
  },
  ignored: {
    activeDeadlineSeconds: 'nothing watches the pod when the command has ended',
    readinessGates: 'readiness is the work of a cluster',
    automountServiceAccountToken: NO_ACCOUNTS,
    enableServiceLinks: 'there are no services outside a cluster',
    serviceAccount: NO_ACCOUNTS,
    ...Object.fromEntries(SCHEDULING.map((name) => [name, NO_SCHEDULER])),
  },
};

const METADATA_BOOKKEEPING = ['creationTimestamp', 'resourceVersion', 'generation', 'managedFields', 'ownerReferences', 'finalizers', 'selfLink'];

/** Reads a document of kind Pod. */
export function readPod(root: ObjectFields): Pod {
  const metadata = readMetadata(root.get('metadata'));
  const field = root.get('spec');
  if (!field.present) field.error('is required');
  const spec = field.object(readSpec, SPEC_FIELDS) ?? EMPTY_SPEC;
  return { metadata, spec };
}

function readMetadata(field: Field): PodMetadata {
  if (!field.present) field.error('is required');
  const metadata = field.object(
    (fields) => {
      const name = dnsSubdomain(fields.get('name'));
      const namespace = readNamespace(fields);
      const uid = fields.get('uid');
      const text = uid.string();
      if (text !== undefined && !/^[A-Za-z0-9-]{1,63}$/.test(text)) uid.error('expected letters, digits and "-", at most 63');
      const finalUid = text || derivePodUid(namespace, name);
      checkLength(fields.get('name'), `${namespace}_${name}_${finalUid}`);
      return {
        name,
        namespace,
        uid: finalUid,
        labels: fields.get('labels').stringMap(),
        annotations: fields.get('annotations').stringMap(),
      };
    },
    { unsupported: { generateName: 'give the pod a name' }, bookkeeping: METADATA_BOOKKEEPING },
  );
  return metadata ?? { name: '', namespace: '', uid: '', labels: {}, annotations: {} };
}

/** NAME_MAX of Linux, in bytes. */
const MAX_FILE_NAME = 255;

/** A name that Kubernetes allows may still be too long for the pod's log directory; the kubelet finds that out when it makes it. */
function checkLength(name: Field, directory: string): void {
  const length = Buffer.byteLength(directory);
  if (length <= MAX_FILE_NAME) return;
  const limit = `a file name has at most ${MAX_FILE_NAME}`;
  name.error(`is too long: the log directory <namespace>_<name>_<uid> would have ${length} bytes, and ${limit}`);
}

/** The namespace of an object's metadata. */
export function readNamespace(metadata: ObjectFields): string {
  const field = metadata.get('namespace');
  return field.present ? dnsLabel(field) : 'default';
}

function readSpec(spec: ObjectFields): PodSpec {
  const containers = spec.get('containers');
  if (containers.list().length === 0) containers.error('needs at least one container');
  const hostNetwork = spec.get('hostNetwork').boolean() ?? false;
  if (spec.get('hostUsers').boolean() === false) spec.get('hostUsers').error('is not supported: user namespaces are not set up');
  checkOs(spec.get('os'));
  const shareProcessNamespace = spec.get('shareProcessNamespace').boolean() ?? false;
  const hostPID = spec.get('hostPID').boolean() ?? false;
  if (hostPID && shareProcessNamespace) spec.get('shareProcessNamespace').error('cannot be true together with hostPID');
  const dnsPolicy = spec.get('dnsPolicy').oneOf(['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None']) ?? 'ClusterFirst';
  const dnsConfig = readDnsConfig(spec.get('dnsConfig'));
  if (dnsPolicy === 'None' && (dnsConfig?.nameservers.length ?? 0) === 0) {
    spec.get('dnsConfig').error('needs nameservers when dnsPolicy is "None"');
  }
  const result: PodSpec = {
    restartPolicy: spec.get('restartPolicy').oneOf(['Always', 'OnFailure', 'Never']) ?? 'Always',
    terminationGracePeriodSeconds: spec.get('terminationGracePeriodSeconds').integer(0, 2 ** 31 - 1) ?? 30,
    hostNetwork,
    hostPID,
    hostIPC: spec.get('hostIPC').boolean() ?? false,
    shareProcessNamespace,
    hostname: optionalLabel(spec.get('hostname')),
    subdomain: optionalLabel(spec.get('subdomain')),
    setHostnameAsFQDN: spec.get('setHostnameAsFQDN').boolean() ?? false,
    dnsPolicy,
    dnsConfig,
    hostAliases: readHostAliases(spec.get('hostAliases')),
    runtimeClassName: spec.get('runtimeClassName').string(),
    nodeName: seenByVariables(spec.get('nodeName'), 'the pod runs where its runtime is'),
    serviceAccountName: seenByVariables(spec.get('serviceAccountName'), NO_ACCOUNTS),
    securityContext: readPodSecurityContext(spec.get('securityContext')),
    imagePullSecrets: spec.get('imagePullSecrets').objects((ref) => ref.get('name').requiredString()),
    overhead: readResourceList(spec.get('overhead')),
    volumes: readVolumes(spec.get('volumes')),
    initContainers: readContainers(spec.get('initContainers'), 'init'),
    containers: readContainers(containers, 'container'),
    ephemeralContainers: readContainers(spec.get('ephemeralContainers'), 'ephemeral'),
  };
  reportDuplicateNames(spec, result);
  return result;
}

function reportDuplicateNames(spec: ObjectFields, pod: PodSpec): void {
  const seen = new Set<string>();
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    pod[list].forEach(({ name }, index) => {
      if (name !== '' && seen.has(name)) {
        spec.get(list).list()[index]?.error(`there is another container named ${JSON.stringify(name)}`);
      }
      seen.add(name);
    });
  }
}

/** A field whose only use is that a variable may take it (fieldRef). */
function seenByVariables(field: Field, reason: string): string | undefined {
  if (field.present) field.warning(`only variables see it: ${reason}`);
  return field.string();
}

function optionalLabel(field: Field): string | undefined {
  return field.present && field.value !== '' ? dnsLabel(field) : undefined;
}

function checkOs(field: Field): void {
  field.object((os) => {
    const name = os.get('name').string();
    if (name !== 'linux') os.get('name').error(`is not supported: only Linux pods can be run, got ${JSON.stringify(name)}`);
  });
}

function readDnsConfig(field: Field): PodDnsConfig | undefined {
  return field.object((dns) => ({
    nameservers: dns.get('nameservers').strings(),
    searches: dns.get('searches').strings(),
    options: dns
      .get('options')
      .objects((option) => ({ name: option.get('name').requiredString(), value: option.get('value').string() })),
  }));
}

function readHostAliases(field: Field): HostAlias[] {
  return field.objects((alias) => ({ ip: alias.get('ip').requiredString(), hostnames: alias.get('hostnames').strings() }));
}

/** Stands in for a spec that was not there, after that was reported. */
const EMPTY_SPEC: PodSpec = {
  restartPolicy: 'Always',
  terminationGracePeriodSeconds: 30,
  hostNetwork: false,
  hostPID: false,
  hostIPC: false,
  shareProcessNamespace: false,
  hostname: undefined,
  subdomain: undefined,
  setHostnameAsFQDN: false,
  dnsPolicy: 'ClusterFirst',
  dnsConfig: undefined,
  hostAliases: [],
  runtimeClassName: undefined,
  nodeName: undefined,
  serviceAccountName: undefined,
  securityContext: NO_POD_SECURITY_CONTEXT,
  imagePullSecrets: [],
  overhead: {},
  volumes: [],
  initContainers: [],
  containers: [],
  ephemeralContainers: [],
};
