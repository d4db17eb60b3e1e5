import type { Field, ObjectFields } from './field.js';
import { dnsLabel } from './names.js';
import type { HostPathType, KeyToPath, Volume, VolumeMount, VolumeSource } from './pod.js';

const HOST_PATH_TYPES: readonly HostPathType[] = [
  '',
  'DirectoryOrCreate',
  'Directory',
  'FileOrCreate',
  'File',
  'Socket',
  'CharDevice',
  'BlockDevice',
];

const NEEDS_CLUSTER = 'volumes of this kind need a cluster; supported: emptyDir, hostPath, configMap, secret';

const OTHER_SOURCES = Object.fromEntries(
  [
    ...['persistentVolumeClaim', 'projected', 'downwardAPI', 'csi', 'ephemeral', 'image', 'nfs', 'iscsi', 'cephfs', 'rbd', 'glusterfs'],
    ...['gitRepo', 'fc', 'flexVolume', 'flocker', 'cinder', 'azureFile', 'azureDisk', 'awsElasticBlockStore', 'gcePersistentDisk'],
    ...['vsphereVolume', 'quobyte', 'portworxVolume', 'photonPersistentDisk', 'scaleIO', 'storageos'],
  ].map((name) => [name, NEEDS_CLUSTER]),
);

export function readVolumes(field: Field): Volume[] {
  const read = (volume: ObjectFields, element: Field): Volume => {
    const name = dnsLabel(volume.get('name'));
    const sources = [
      readEmptyDir(volume.get('emptyDir')),
      readHostPath(volume.get('hostPath')),
      readPayload(volume.get('configMap'), 'configMap', 'name'),
      readPayload(volume.get('secret'), 'secret', 'secretName'),
    ].filter((source) => source !== undefined);
    if (sources.length > 1) element.error('names more than one kind of volume');
    // The API server's default for a volume without a source.
    return { name, source: sources[0] ?? { type: 'emptyDir', memory: false, sizeLimit: undefined } };
  };
  const volumes = field.objects(read, { unsupported: OTHER_SOURCES });
  reportDuplicates(field, volumes);
  return volumes;
}

function reportDuplicates(field: Field, volumes: readonly Volume[]): void {
  volumes.forEach((volume, index) => {
    if (volume.name !== '' && volumes.findIndex((other) => other.name === volume.name) < index) {
      field.list()[index]?.error(`there is another volume named ${JSON.stringify(volume.name)}`);
    }
  });
}

function readEmptyDir(field: Field): VolumeSource | undefined {
  return field.object((dir) => {
    const memory = dir.get('medium').oneOf(['', 'Memory']) === 'Memory';
    const sizeLimit = dir.get('sizeLimit');
    if (sizeLimit.present && !memory) sizeLimit.warning('is ignored: it is enforced in memory only (medium: Memory)');
    return { type: 'emptyDir', memory, sizeLimit: sizeLimit.quantity() };
  });
}

function readHostPath(field: Field): VolumeSource | undefined {
  return field.object((host) => {
    const path = host.get('path');
    const text = path.requiredString();
    if (text !== '' && (!text.startsWith('/') || text.split('/').includes('..'))) {
      path.error(`expected an absolute path without "..", got ${JSON.stringify(text)}`);
    }
    return { type: 'hostPath', path: text, pathType: host.get('type').oneOf(HOST_PATH_TYPES) ?? '' };
  });
}

function readPayload(field: Field, type: 'configMap' | 'secret', nameKey: string): VolumeSource | undefined {
  return field.object((payload) => {
    const items = payload.get('items');
    return {
      type,
      name: payload.get(nameKey).requiredString(),
      items: items.present ? items.objects(readItem) : undefined,
      defaultMode: payload.get('defaultMode').integer(0, 0o777) ?? 0o644,
      optional: payload.get('optional').boolean() ?? false,
    };
  });
}

function readItem(item: ObjectFields): KeyToPath {
  return {
    key: item.get('key').requiredString(),
    path: relativePath(item.get('path'), item.get('path').requiredString()),
    mode: item.get('mode').integer(0, 0o777),
  };
}

export function readVolumeMounts(field: Field): VolumeMount[] {
  const read = (mount: ObjectFields): VolumeMount => {
    const path = mount.get('mountPath');
    const mountPath = path.requiredString();
    if (mountPath.includes(':')) path.error('must not contain ":"');
    const subPath = mount.get('subPath');
    const subPathExpr = mount.get('subPathExpr');
    if (subPath.present && subPathExpr.present) subPathExpr.error('cannot stand beside subPath');
    const readOnly = mount.get('readOnly').boolean() ?? false;
    const recursive = mount.get('recursiveReadOnly');
    const recursiveReadOnly = recursive.oneOf(['Disabled', 'Enabled']) === 'Enabled';
    if (recursiveReadOnly && !readOnly) recursive.error('needs readOnly: true');
    return {
      name: mount.get('name').requiredString(),
      // The kubelet roots a relative path at "/".
      mountPath: mountPath === '' || mountPath.startsWith('/') ? mountPath : `/${mountPath}`,
      subPath: relativePath(subPath, subPath.string() ?? ''),
      subPathExpr: relativePath(subPathExpr, subPathExpr.string() ?? ''),
      readOnly,
      recursiveReadOnly,
      mountPropagation: mount.get('mountPropagation').oneOf(['None', 'HostToContainer', 'Bidirectional']) ?? 'None',
    };
  };
  const mounts = field.objects(read);
  mounts.forEach((mount, index) => {
    // That it has no path was said.
    if (mount.mountPath === '') return;
    const first = mounts.findIndex((other) => other.mountPath === mount.mountPath);
    if (first < index) field.list()[index]?.error(`mounts at ${mount.mountPath} like volumeMounts[${first}]`);
  });
  return mounts;
}

function relativePath(field: Field, path: string): string {
  if (path.startsWith('/') || path.split('/').includes('..')) {
    field.error(`expected a relative path without "..", got ${JSON.stringify(path)}`);
  }
  return path;
}
