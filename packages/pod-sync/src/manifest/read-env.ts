import type { Field } from './field.js';
import type { EnvFromSource, EnvSource, EnvVar } from './pod.js';

/** Kubernetes allows every printable ASCII character but "=" in a variable's name. */
const ENV_NAME = /^[ -<>-~]+$/;

const FIELD_PATH =
  /^(metadata\.(name|namespace|uid)|metadata\.(labels|annotations)\['[^']+'\]|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$/;

const RESOURCE = /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/;

export function isEnvName(name: string): boolean {
  return ENV_NAME.test(name);
}

export function readEnv(field: Field): EnvVar[] {
  return field.objects((variable): EnvVar => {
    const name = variable.get('name');
    const text = name.requiredString();
    if (text !== '' && !isEnvName(text)) name.error(`expected printable characters other than "=", got ${JSON.stringify(text)}`);
    const value = variable.get('value');
    const valueFrom = variable.get('valueFrom');
    if (valueFrom.present && value.present && value.value !== '') valueFrom.error('cannot stand beside a value');
    return { name: text, source: readSource(valueFrom) ?? { type: 'value', value: value.confidentialString() ?? '' } };
  });
}

function readSource(field: Field): EnvSource | undefined {
  return field.object(
    (from) => {
      const sources = [
        readFieldRef(from.get('fieldRef')),
        readResourceRef(from.get('resourceFieldRef')),
        readKeyRef(from.get('configMapKeyRef'), 'configMap'),
        readKeyRef(from.get('secretKeyRef'), 'secret'),
      ].filter((source) => source !== undefined);
      if (sources.length > 1) field.error('names more than one source');
      return sources[0];
    },
    { unsupported: { fileKeyRef: 'variables from files in a volume are not read' } },
  );
}

function readFieldRef(field: Field): EnvSource | undefined {
  return field.object((ref): EnvSource => {
    const path = ref.get('fieldPath');
    const fieldPath = path.requiredString();
    if (fieldPath !== '' && !FIELD_PATH.test(fieldPath)) path.error(`${JSON.stringify(fieldPath)} is not a field that a variable can take`);
    const version = ref.get('apiVersion').string();
    if (version !== undefined && version !== 'v1') ref.get('apiVersion').error(`expected "v1", got ${JSON.stringify(version)}`);
    return { type: 'field', fieldPath };
  });
}

function readResourceRef(field: Field): EnvSource | undefined {
  return field.object((ref): EnvSource => {
    const path = ref.get('resource');
    const resource = path.requiredString();
    if (resource !== '' && !RESOURCE.test(resource)) {
      path.error(`expected limits.NAME or requests.NAME of cpu, memory, ephemeral-storage or hugepages, got ${JSON.stringify(resource)}`);
    }
    return { type: 'resource', resource, containerName: ref.get('containerName').string(), divisor: ref.get('divisor').quantity() };
  });
}

function readKeyRef(field: Field, type: 'configMap' | 'secret'): EnvSource | undefined {
  return field.object((ref) => ({
    type,
    name: ref.get('name').requiredString(),
    key: ref.get('key').requiredString(),
    optional: ref.get('optional').boolean() ?? false,
  }));
}

export function readEnvFrom(field: Field): EnvFromSource[] {
  return field.objects((from, element): EnvFromSource => {
    const prefix = from.get('prefix').string() ?? '';
    const configMap = readEnvFromRef(from.get('configMapRef'), 'configMap', prefix);
    const secret = readEnvFromRef(from.get('secretRef'), 'secret', prefix);
    if ((configMap === undefined) === (secret === undefined)) element.error('expected either configMapRef or secretRef');
    return configMap ?? secret ?? { type: 'configMap', name: '', prefix, optional: true };
  });
}

function readEnvFromRef(field: Field, type: 'configMap' | 'secret', prefix: string): EnvFromSource | undefined {
  return field.object((ref) => ({
    type,
    name: ref.get('name').requiredString(),
    prefix,
    optional: ref.get('optional').boolean() ?? false,
  }));
}
