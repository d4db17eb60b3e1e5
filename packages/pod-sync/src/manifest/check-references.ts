import type { FieldPath, ProblemSink } from './field.js';
import type { ConfigObject, Container, EnvSource, Manifest, Pod } from './pod.js';

type Lists = 'initContainers' | 'containers' | 'ephemeralContainers';

/**
 * Reports what a pod refers to and the file does not give: volumes, containers, ConfigMaps, Secrets and their keys.
 *
 * @param complete whether every document could be read; else a missing object may stand in one that could not, and is not reported.
 */
export function checkReferences(manifest: Manifest, complete: boolean, sink: ProblemSink): void {
  const scope = { manifest, complete };
  const { spec } = manifest.pod;
  spec.volumes.forEach(({ source }, index) => {
    if (source.type !== 'configMap' && source.type !== 'secret') return;
    const path = ['spec', 'volumes', index, source.type];
    const keys = source.optional ? [] : (source.items ?? []).map((item) => item.key);
    const nameKey = source.type === 'secret' ? 'secretName' : 'name';
    checkObject(scope, source, [...path, nameKey], sink)?.(keys, (at) => [...path, 'items', at, 'key'], 'volume');
  });
  spec.imagePullSecrets.forEach((name, index) => {
    if (name === '' || manifest.secrets.has(name)) return;
    sink.warning(['spec', 'imagePullSecrets', index, 'name'], `there is no Secret ${JSON.stringify(name)} in this file`);
  });
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] satisfies Lists[]) {
    spec[list].forEach((container, index) => checkContainer(scope, container, ['spec', list, index], sink));
  }
}

interface Scope {
  readonly manifest: Manifest;
  readonly complete: boolean;
}

function checkContainer(scope: Scope, container: Container, path: FieldPath, sink: ProblemSink): void {
  const { pod } = scope.manifest;
  container.volumeMounts.forEach((mount, index) => {
    if (mount.name === '' || pod.spec.volumes.some((volume) => volume.name === mount.name)) return;
    sink.error([...path, 'volumeMounts', index, 'name'], `there is no volume ${JSON.stringify(mount.name)} in spec.volumes`);
  });
  container.env.forEach((variable, index) => checkEnv(scope, variable.source, [...path, 'env', index, 'valueFrom'], sink));
  container.envFrom.forEach((from, index) => {
    checkObject(scope, from, [...path, 'envFrom', index, `${from.type}Ref`, 'name'], sink);
  });
  const target = container.targetContainerName;
  if (target !== undefined && findContainer(pod, target) === undefined) {
    sink.error([...path, 'targetContainerName'], `there is no container ${JSON.stringify(target)}`);
  }
}

function checkEnv(scope: Scope, source: EnvSource, path: FieldPath, sink: ProblemSink): void {
  if (source.type === 'configMap' || source.type === 'secret') {
    const ref = [...path, `${source.type}KeyRef`];
    checkObject(scope, source, [...ref, 'name'], sink)?.([source.key], () => [...ref, 'key'], 'variable');
  }
  if (source.type === 'resource' && source.containerName !== undefined && findContainer(scope.manifest.pod, source.containerName) === undefined) {
    sink.error([...path, 'resourceFieldRef', 'containerName'], `there is no container ${JSON.stringify(source.containerName)}`);
  }
}

interface ObjectReference {
  readonly type: 'configMap' | 'secret';
  readonly name: string;
  readonly optional: boolean;
}

/** Reports a missing object; for one that exists returns how to report missing keys. Optional references are not checked. */
function checkObject({ manifest, complete }: Scope, ref: ObjectReference, path: FieldPath, sink: ProblemSink) {
  if (ref.optional || ref.name === '') return undefined;
  const kind = ref.type === 'secret' ? 'Secret' : 'ConfigMap';
  const object = findObject(manifest, ref);
  if (object === undefined) {
    if (!complete) return undefined;
    const { namespace } = manifest.pod.metadata;
    sink.error(path, `there is no ${kind} ${JSON.stringify(ref.name)} of namespace ${JSON.stringify(namespace)} in this file`);
    return undefined;
  }
  return (keys: readonly string[], pathOf: (index: number) => FieldPath, user: 'volume' | 'variable') => {
    keys.forEach((key, index) => {
      const binary = Object.hasOwn(object.binaryData, key);
      if (key === '' || Object.hasOwn(object.data, key) || (binary && user === 'volume')) return;
      const where = binary ? ' in data, and only volumes show binaryData' : '';
      sink.error(pathOf(index), `${kind} ${JSON.stringify(ref.name)} has no key ${JSON.stringify(key)}${where}`);
    });
  };
}

/** The ConfigMap or Secret that a reference means. */
export function findObject(manifest: Manifest, ref: Pick<ObjectReference, 'type' | 'name'>): ConfigObject | undefined {
  return (ref.type === 'secret' ? manifest.secrets : manifest.configMaps).get(ref.name);
}

/** Every container of a pod: init containers, ordinary ones, ephemeral ones. */
export function allContainers(pod: Pod): readonly Container[] {
  return [...pod.spec.initContainers, ...pod.spec.containers, ...pod.spec.ephemeralContainers];
}

export function findContainer(pod: Pod, name: string): Container | undefined {
  return allContainers(pod).find((container) => container.name === name);
}
