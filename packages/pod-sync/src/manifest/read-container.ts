import { isIP } from 'node:net';
import type { Field, ObjectFields, OtherFields } from './field.js';
import { defaultPullPolicy, referenceProblem } from './image-reference.js';
import { dnsLabel, serviceName } from './names.js';
import { readEnv, readEnvFrom } from './read-env.js';
import type { Container, ContainerKind, ContainerPort, Lifecycle, LifecycleHook, ResourceList, Resources } from './pod.js';
import { milliValue } from './quantity.js';
import { readContainerSecurityContext } from './read-security-context.js';
import { readVolumeMounts } from './read-volumes.js';

const PROBE = 'probes are the work of a kubelet';

const OTHER_FIELDS: OtherFields = {
  unsupported: {
    volumeDevices: 'block volumes need a cluster',
    restartPolicyRules: 'only the pod has a restart policy, and an init container may say "Always"',
  },
  ignored: {
    livenessProbe: PROBE,
    readinessProbe: PROBE,
    startupProbe: PROBE,
    resizePolicy: 'a changed container is started anew',
  },
};

/** Reads containers, initContainers or ephemeralContainers; `list` tells which. */
export function readContainers(field: Field, list: 'init' | 'container' | 'ephemeral'): Container[] {
  return field.objects((fields): Container => {
    const kind = readKind(fields, list);
    const image = fields.get('image');
    const imageName = image.requiredString();
    if (imageName !== imageName.trim()) image.error('must not begin or end with a space');
    else if (imageName !== '') checkReference(image, imageName);
    const stdin = fields.get('stdin').boolean() ?? false;
    return {
      kind,
      name: dnsLabel(fields.get('name')),
      image: imageName,
      imagePullPolicy: fields.get('imagePullPolicy').oneOf(['Always', 'IfNotPresent', 'Never']) ?? defaultPullPolicy(imageName),
      command: fields.get('command').strings(),
      args: fields.get('args').strings(),
      workingDir: fields.get('workingDir').string() ?? '',
      env: readEnv(fields.get('env')),
      envFrom: readEnvFrom(fields.get('envFrom')),
      ports: readPorts(fields.get('ports')),
      resources: readResources(fields.get('resources')),
      volumeMounts: readVolumeMounts(fields.get('volumeMounts')),
      securityContext: readContainerSecurityContext(fields.get('securityContext')),
      lifecycle: readLifecycle(fields.get('lifecycle')),
      terminationMessagePath: fields.get('terminationMessagePath').string() ?? '/dev/termination-log',
      terminationMessagePolicy: fields.get('terminationMessagePolicy').oneOf(['File', 'FallbackToLogsOnError']) ?? 'File',
      stdin,
      stdinOnce: fields.get('stdinOnce').boolean() ?? false,
      tty: fields.get('tty').boolean() ?? false,
      targetContainerName: list === 'ephemeral' ? fields.get('targetContainerName').string() : undefined,
    };
  }, OTHER_FIELDS);
}

function checkReference(field: Field, image: string): void {
  const problem = referenceProblem(image);
  if (problem !== undefined) field.error(`${JSON.stringify(image)} is not an image reference: ${problem}`);
}

function readKind(fields: ObjectFields, list: 'init' | 'container' | 'ephemeral'): ContainerKind {
  const policy = fields.get('restartPolicy');
  if (!policy.present) return list;
  if (list === 'init') return policy.oneOf(['Always']) === undefined ? 'init' : 'sidecar';
  policy.error('is not supported: only an init container may set it, to "Always"');
  return list;
}

function readPorts(field: Field): ContainerPort[] {
  return field.objects((port): ContainerPort => {
    const containerPort = port.get('containerPort');
    if (!containerPort.present) containerPort.error('is required');
    const hostIP = port.get('hostIP').string() ?? '';
    if (hostIP !== '' && isIP(hostIP) === 0) port.get('hostIP').error(`expected an IP address, got ${JSON.stringify(hostIP)}`);
    return {
      name: port.get('name').present ? serviceName(port.get('name')) : undefined,
      containerPort: containerPort.integer(1, 65535) ?? 0,
      hostPort: port.get('hostPort').integer(0, 65535) ?? 0,
      hostIP,
      protocol: port.get('protocol').oneOf(['TCP', 'UDP', 'SCTP']) ?? 'TCP',
    };
  });
}

function readResources(field: Field): Resources {
  const read = (resources: ObjectFields): Resources => {
    const limits = readResourceList(resources.get('limits'));
    const requests = readResourceList(resources.get('requests'));
    for (const [name, request] of Object.entries(requests)) {
      const limit = limits[name];
      if (limit !== undefined && milliValue(request) > milliValue(limit)) {
        resources.get('requests').error(`${name} asks for ${request}, more than its limit ${limit}`);
      }
    }
    return { limits, requests };
  };
  return field.object(read, { unsupported: { claims: 'device claims need a cluster' } }) ?? { limits: {}, requests: {} };
}

/** A mapping from resource name to quantity; negative amounts are refused. */
export function readResourceList(field: Field): ResourceList {
  const pairs = field.entries().flatMap(([name, amount]) => {
    const quantity = amount.quantity();
    if (quantity === undefined) return [];
    if (milliValue(quantity) < 0n) amount.error('must not be negative');
    return [[name, quantity] as const];
  });
  return Object.fromEntries(pairs);
}

function readLifecycle(field: Field): Lifecycle {
  const read = (lifecycle: ObjectFields): Lifecycle => ({
    postStart: readHook(lifecycle.get('postStart')),
    preStop: readHook(lifecycle.get('preStop')),
    stopSignal: readSignal(lifecycle.get('stopSignal')),
  });
  return field.object(read) ?? { postStart: undefined, preStop: undefined, stopSignal: undefined };
}

function readHook(field: Field): LifecycleHook | undefined {
  const reason = 'hooks can be exec or sleep';
  return field.object(
    (hook): LifecycleHook | undefined => {
      const exec = hook.get('exec').object((action) => action.get('command').strings());
      const sleep = hook.get('sleep').object((action) => action.get('seconds').integer(0, 86_400) ?? 0);
      if (exec !== undefined) return { type: 'exec', command: exec };
      return sleep === undefined ? undefined : { type: 'sleep', seconds: sleep };
    },
    { unsupported: { httpGet: reason, tcpSocket: reason } },
  );
}

function readSignal(field: Field): string | undefined {
  const signal = field.string();
  if (signal !== undefined && !/^SIG[A-Z0-9+-]+$/.test(signal)) field.error(`expected a signal such as "SIGUSR1", got ${JSON.stringify(signal)}`);
  return signal;
}
