import { isMap, isScalar, isSeq, LineCounter, parseAllDocuments, type Document, type Tags } from 'yaml';
import { checkPorts } from './check-ports.js';
import { checkReferences } from './check-references.js';
import { Field, formatPath, type FieldPath, type ObjectFields, type ProblemSink } from './field.js';
import { ManifestError, type ManifestProblem } from './manifest-error.js';
import type { ConfigObject, Manifest, Pod } from './pod.js';
import { readConfigMap, readSecret } from './read-config-object.js';
import { readPod } from './read-pod.js';

/** A manifest that can be run, and what the user should know about it. */
export interface ParsedManifest {
  readonly manifest: Manifest;
  /** Fields that were left out of account; print them with {@link formatProblem}. */
  readonly warnings: readonly ManifestProblem[];
}

const LIST_ADVICE = 'write its items as documents of their own, separated by "---"';

/**
 * Reads a Pod manifest: YAML or JSON, one Pod and any number of ConfigMaps and Secrets for it as documents of the same file.
 * YAML is read as kubectl reads it (YAML 1.1: `0644` is octal), but for times and other types of YAML's own, which stay text.
 *
 * @param source what to call the text in messages, usually its file name.
 * @throws ManifestError with every problem, each at its field path and line.
 */
export function parseManifest(text: string, source: string): ParsedManifest {
  const problems: ManifestProblem[] = [];
  const warnings: ManifestProblem[] = [];
  const lines = new LineCounter();
  const pods: { pod: Pod; sink: ProblemSink }[] = [];
  const objects: ConfigObject[] = [];

  // Whether every document was understood as far as its kind.
  let complete = true;

  for (const document of documents(text, lines)) {
    for (const error of document.errors) {
      problems.push({ path: '', line: lines.linePos(error.pos[0]).line, message: error.message.split('\n')[0] ?? '' });
    }
    if (document.errors.length > 0) {
      complete = false;
      continue;
    }
    const sink = sinkFor(document, lines, problems, warnings);
    const root = new Field(toPlain(document, sink), [], sink);
    if (!root.present) continue;
    root.object((fields) => {
      const kind = fields.get('kind');
      checkVersion(fields);
      if (kind.value === 'Pod') pods.push({ pod: readPod(fields), sink });
      else if (kind.value === 'ConfigMap') objects.push(readConfigMap(fields));
      else if (kind.value === 'Secret') objects.push(readSecret(fields));
      else {
        complete = false;
        reportKind(kind);
      }
    }, otherRootFields(root));
  }

  const [first, second] = pods;
  if (first === undefined && problems.length === 0) problems.push({ path: '', message: 'there is no Pod in this file' });
  second?.sink.error(['kind'], 'there is another Pod in this file; run one file a pod');
  for (const { pod, sink } of pods) {
    checkPorts(pod, sink);
    checkReferences(assemble(pod, objects), complete, sink);
  }
  if (first === undefined || problems.length > 0) throw new ManifestError(source, inTextOrder(problems));
  return { manifest: assemble(first.pod, objects), warnings: inTextOrder(warnings) };
}

function inTextOrder(problems: readonly ManifestProblem[]): ManifestProblem[] {
  return [...problems].sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

function documents(text: string, lines: LineCounter): Document.Parsed[] {
  // YAML 1.1 without what go-yaml does not know either: sexagesimal numbers, timestamps, sets, ordered maps, binary.
  const dropped = new Set(['intTime', 'floatTime', 'timestamp', 'set', 'omap', 'pairs', 'binary']);
  const parsed = parseAllDocuments(text, {
    version: '1.1',
    customTags: (tags: Tags) => tags.filter((tag) => !dropped.has(typeof tag === 'string' ? tag : tagName(tag))),
    lineCounter: lines,
    merge: true,
    prettyErrors: false,
  });
  return Array.isArray(parsed) ? parsed : [];
}

function tagName(tag: { tag: string; format?: string }): string {
  const name = tag.tag.replace('tag:yaml.org,2002:', '');
  return tag.format === 'TIME' ? `${name}Time` : name;
}

function toPlain(document: Document.Parsed, sink: ProblemSink): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) as unknown;
  } catch (error) {
    sink.error([], error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

function otherRootFields(root: Field) {
  // A document of an unknown kind is reported once, not once a field.
  const known = ['Pod', 'ConfigMap', 'Secret'].includes(String((root.value as { kind?: unknown }).kind));
  return { bookkeeping: known ? ['status'] : Object.keys(root.value as object) };
}

function checkVersion(fields: ObjectFields): void {
  const version = fields.get('apiVersion');
  if (version.present && version.value !== 'v1') version.error(`expected "v1", got ${JSON.stringify(version.value)}`);
  else if (!version.present) version.error('is required: "v1"');
}

function reportKind(kind: Field): void {
  if (!kind.present) kind.error('is required: "Pod", "ConfigMap" or "Secret"');
  else if (kind.value === 'List') kind.error(`"List" is not supported: ${LIST_ADVICE}`);
  else kind.error(`${JSON.stringify(kind.value)} is not supported: only Pod, ConfigMap and Secret`);
}

function assemble(pod: Pod, objects: readonly ConfigObject[]): Manifest {
  const own = objects.filter((object) => object.namespace === pod.metadata.namespace);
  const byName = (kind: ConfigObject['kind']) => new Map(own.filter((o) => o.kind === kind).map((o) => [o.name, o]));
  return { pod, configMaps: byName('ConfigMap'), secrets: byName('Secret') };
}

function sinkFor(
  document: Document.Parsed,
  lines: LineCounter,
  problems: ManifestProblem[],
  warnings: ManifestProblem[],
): ProblemSink {
  const at = (path: FieldPath, message: string): ManifestProblem => {
    const offset = offsetOf(document, path);
    return { path: formatPath(path), message, ...(offset === undefined ? {} : { line: lines.linePos(offset).line }) };
  };
  return {
    error: (path, message) => problems.push(at(path, message)),
    warning: (path, message) => warnings.push(at(path, message)),
  };
}

/** Where a field begins in the text; for one that is not there, where the nearest object around it begins. */
function offsetOf(document: Document.Parsed, path: FieldPath): number | undefined {
  let node: unknown = document.contents;
  let offset = document.contents?.range?.[0];
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(part));
      if (pair === undefined) return offset;
      offset = (isScalar(pair.key) ? pair.key.range?.[0] : undefined) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      offset = (node as { range?: readonly number[] } | undefined)?.range?.[0] ?? offset;
    } else {
      return offset;
    }
  }
  return offset;
}
