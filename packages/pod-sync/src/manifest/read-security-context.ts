import { isCapability } from './capabilities.js';
import type { Field, ObjectFields } from './field.js';
import type { ContainerSecurityContext, PodSecurityContext, SecurityProfile, SeLinuxOptions, SharedSecurityContext } from './pod.js';

/** Largest user and group id of Kubernetes (int64 in the API, uint31 by its validation). */
const MAX_ID = 2 ** 31 - 1;

export const NO_POD_SECURITY_CONTEXT: PodSecurityContext = {
  runAsUser: undefined,
  runAsGroup: undefined,
  runAsNonRoot: undefined,
  seccompProfile: undefined,
  appArmorProfile: undefined,
  seLinuxOptions: undefined,
  fsGroup: undefined,
  supplementalGroups: [],
  supplementalGroupsPolicy: undefined,
  sysctls: {},
};

const NO_CONTAINER_SECURITY_CONTEXT: ContainerSecurityContext = {
  runAsUser: undefined,
  runAsGroup: undefined,
  runAsNonRoot: undefined,
  seccompProfile: undefined,
  appArmorProfile: undefined,
  seLinuxOptions: undefined,
  privileged: undefined,
  readOnlyRootFilesystem: undefined,
  allowPrivilegeEscalation: undefined,
  procMount: undefined,
  capabilities: undefined,
};

const WINDOWS = { windowsOptions: 'only Linux pods can be run' };

export function readPodSecurityContext(field: Field): PodSecurityContext {
  const read = (context: ObjectFields): PodSecurityContext => ({
    ...readShared(context),
    fsGroup: context.get('fsGroup').integer(0, MAX_ID),
    supplementalGroups: context.get('supplementalGroups').list().map((id) => id.integer(0, MAX_ID) ?? 0),
    supplementalGroupsPolicy: context.get('supplementalGroupsPolicy').oneOf(['Merge', 'Strict']),
    sysctls: readSysctls(context.get('sysctls')),
  });
  const other = {
    unsupported: WINDOWS,
    ignored: { fsGroupChangePolicy: 'ownership of volumes is always set', seLinuxChangePolicy: 'the runtime labels volumes' },
  };
  return field.object(read, other) ?? NO_POD_SECURITY_CONTEXT;
}

export function readContainerSecurityContext(field: Field): ContainerSecurityContext {
  const read = (context: ObjectFields): ContainerSecurityContext => {
    const result = {
      ...readShared(context),
      privileged: context.get('privileged').boolean(),
      readOnlyRootFilesystem: context.get('readOnlyRootFilesystem').boolean(),
      allowPrivilegeEscalation: context.get('allowPrivilegeEscalation').boolean(),
      procMount: context.get('procMount').oneOf(['Default', 'Unmasked']),
      capabilities: context.get('capabilities').object((capabilities) => ({
        add: readCapabilities(capabilities.get('add')),
        drop: readCapabilities(capabilities.get('drop')),
      })),
    };
    if (result.allowPrivilegeEscalation === false && (result.privileged || result.capabilities?.add.includes('CAP_SYS_ADMIN'))) {
      context.get('allowPrivilegeEscalation').error('cannot be false for a privileged container or one with CAP_SYS_ADMIN');
    }
    return result;
  };
  return field.object(read, { unsupported: WINDOWS }) ?? NO_CONTAINER_SECURITY_CONTEXT;
}

function readCapabilities(field: Field): string[] {
  // A warning only: what a runtime does with it differs, and a newer kernel may have more.
  for (const element of field.list()) {
    const { value } = element;
    if (typeof value === 'string' && !isCapability(value)) element.warning(`Linux has no capability ${JSON.stringify(value)}`);
  }
  return field.strings();
}

function readShared(context: ObjectFields): SharedSecurityContext {
  return {
    runAsUser: context.get('runAsUser').integer(0, MAX_ID),
    runAsGroup: context.get('runAsGroup').integer(0, MAX_ID),
    runAsNonRoot: context.get('runAsNonRoot').boolean(),
    seccompProfile: readProfile(context.get('seccompProfile')),
    appArmorProfile: readProfile(context.get('appArmorProfile')),
    seLinuxOptions: readSeLinux(context.get('seLinuxOptions')),
  };
}

function readProfile(field: Field): SecurityProfile | undefined {
  return field.object((profile) => {
    const type = profile.get('type');
    const localhost = profile.get('localhostProfile');
    const kind = type.oneOf(['RuntimeDefault', 'Unconfined', 'Localhost']);
    if (!type.present) type.error('is required');
    if (kind === 'Localhost' && !localhost.present) localhost.error('is required when type is "Localhost"');
    if (kind !== 'Localhost' && localhost.present) localhost.error('may be set only when type is "Localhost"');
    return { type: kind ?? 'RuntimeDefault', localhostProfile: localhost.string() };
  });
}

function readSeLinux(field: Field): SeLinuxOptions | undefined {
  return field.object((options) => ({
    user: options.get('user').string() ?? '',
    role: options.get('role').string() ?? '',
    type: options.get('type').string() ?? '',
    level: options.get('level').string() ?? '',
  }));
}

function readSysctls(field: Field): Record<string, string> {
  return Object.fromEntries(field.objects((sysctl) => [sysctl.get('name').requiredString(), sysctl.get('value').string() ?? ''] as const));
}
