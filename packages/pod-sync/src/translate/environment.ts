import { findContainer, findObject } from '../manifest/check-references.js';
import type { Container, EnvSource, Manifest, Pod } from '../manifest/pod.js';
import { isEnvName } from '../manifest/read-env.js';
import type { NodeFacts } from '../node/node-facts.js';
import { expand } from './expand.js';
import { resourceFieldValue } from './resource-field.js';

/** A container's environment in the order in which it is set. Values may be secret: never log them. */
export type Environment = ReadonlyMap<string, string>;

/** Resolves envFrom, then env: later entries win, and `$(NAME)` in a plain value refers to entries before it. */
export function containerEnvironment(
  manifest: Manifest,
  container: Container,
  podIps: readonly string[],
  node: NodeFacts,
): Environment {
  const result = new Map<string, string>();
  for (const from of container.envFrom) {
    // Not what a ConfigMap has as binaryData, as with the kubelet: bytes need not be text.
    const entries = Object.entries(findObject(manifest, from)?.data ?? {});
    for (const [key, value] of entries) {
      const name = `${from.prefix}${key}`;
      if (isEnvName(name)) result.set(name, value.toString('utf8'));
    }
  }
  for (const { name, source } of container.env) {
    const value = resolve(manifest, container, source, result, podIps, node);
    if (value !== undefined) result.set(name, value);
  }
  return result;
}

function resolve(
  manifest: Manifest,
  container: Container,
  source: EnvSource,
  before: Environment,
  podIps: readonly string[],
  node: NodeFacts,
): string | undefined {
  switch (source.type) {
    case 'value':
      return expand(source.value, before);
    case 'field':
      return fieldValue(manifest.pod, source.fieldPath, podIps, node);
    case 'resource': {
      const named = source.containerName === undefined ? undefined : findContainer(manifest.pod, source.containerName);
      return resourceFieldValue(named ?? container, source.resource, source.divisor, node);
    }
    default:
      // A missing optional key leaves the variable unset; a required one was checked with the manifest.
      return findObject(manifest, source)?.data[source.key]?.toString('utf8');
  }
}

function fieldValue(pod: Pod, path: string, podIps: readonly string[], node: NodeFacts): string {
  const entry = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (entry !== null) return pod.metadata[entry[1] as 'labels' | 'annotations'][entry[2] ?? ''] ?? '';
  const ips = pod.spec.hostNetwork && podIps.length === 0 ? node.hostIps : podIps;
  const values: Readonly<Record<string, string>> = {
    'metadata.name': pod.metadata.name,
    'metadata.namespace': pod.metadata.namespace,
    'metadata.uid': pod.metadata.uid,
    'spec.nodeName': pod.spec.nodeName ?? node.nodeName,
    'spec.serviceAccountName': pod.spec.serviceAccountName ?? 'default',
    'status.hostIP': node.hostIps[0] ?? '',
    'status.hostIPs': node.hostIps.join(','),
    'status.podIP': ips[0] ?? '',
    'status.podIPs': ips.join(','),
  };
  return values[path] ?? '';
}
