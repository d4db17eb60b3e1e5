import type { Field, ObjectFields } from './field.js';
import { dnsSubdomain } from './names.js';
import type { ConfigObject } from './pod.js';
import { readNamespace } from './read-pod.js';

/** Reads a document of kind ConfigMap: `data` is text, `binaryData` base64. */
export function readConfigMap(root: ObjectFields): ConfigObject {
  root.get('immutable').boolean();
  const data = readText(root.get('data'));
  const binary = root.get('binaryData');
  const binaryData = readBase64(binary);
  for (const [key, field] of binary.entries()) if (Object.hasOwn(data, key)) field.error('stands in data too');
  return { kind: 'ConfigMap', ...readMetadata(root.get('metadata')), type: '', data, binaryData };
}

/** Reads a document of kind Secret: `data` is base64, `stringData` text that wins over it. */
export function readSecret(root: ObjectFields): ConfigObject {
  root.get('immutable').boolean();
  const data = { ...readBase64(root.get('data')), ...readText(root.get('stringData')) };
  return { kind: 'Secret', ...readMetadata(root.get('metadata')), type: root.get('type').string() ?? 'Opaque', data, binaryData: {} };
}

function readMetadata(field: Field): { name: string; namespace: string } {
  if (!field.present) field.error('is required');
  const read = (metadata: ObjectFields) => ({ name: dnsSubdomain(metadata.get('name')), namespace: readNamespace(metadata) });
  const bookkeeping = ['labels', 'annotations', 'uid', 'creationTimestamp', 'resourceVersion', 'managedFields', 'ownerReferences'];
  return field.object(read, { bookkeeping }) ?? { name: '', namespace: '' };
}

function readText(field: Field): Record<string, Buffer> {
  const pairs = field.entries().map(([key, value]) => [checkKey(key, value), Buffer.from(value.confidentialString() ?? '')]);
  return Object.fromEntries(pairs) as Record<string, Buffer>;
}

function readBase64(field: Field): Record<string, Buffer> {
  const pairs = field.entries().map(([key, value]) => {
    const text = (value.confidentialString() ?? '').replace(/\s/g, '');
    // The value itself may be a secret: it is not shown.
    if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) value.error('expected base64');
    return [checkKey(key, value), Buffer.from(text, 'base64')];
  });
  return Object.fromEntries(pairs) as Record<string, Buffer>;
}

function checkKey(key: string, field: Field): string {
  if (!/^[-._A-Za-z0-9]{1,253}$/.test(key) || key === '.' || key.startsWith('..')) {
    field.error('a key has at most 253 letters, digits, "-", "_" and ".", and does not begin with ".."');
  }
  return key;
}
