import type { PodRecord } from './pod-record.js';

/** No pod, or more than one, is meant by a name. */
export class PodLookupError extends Error {
  override readonly name = 'PodLookupError';

  constructor(
    readonly reason: 'not-found' | 'ambiguous',
    message: string,
  ) {
    super(message);
  }
}

/**
 * Finds the pod that `reference` means: `NAMESPACE/NAME`; `NAME` in the namespace default, else in any other if it is the only one;
 * or the beginning of a sandbox's id or a pod's uid, at least two characters.
 *
 * @throws PodLookupError
 */
export function findPod(pods: ReadonlyMap<string, PodRecord>, reference: string): { uid: string; record: PodRecord } {
  const all = [...pods].map(([uid, record]) => ({ uid, record }));
  const [namespace, name] = reference.includes('/') ? reference.split('/', 2) : [undefined, reference];
  const named = all.filter(({ record }) => record.sandboxes[0]?.name === name);
  const inNamespace = named.filter(({ record }) => record.sandboxes[0]?.namespace === (namespace ?? 'default'));
  const candidates = inNamespace.length > 0 || namespace !== undefined ? inNamespace : named;
  return theOne(candidates.length > 0 ? candidates : byId(all, reference), reference);
}

interface Found {
  readonly uid: string;
  readonly record: PodRecord;
}

function byId(all: readonly Found[], prefix: string): Found[] {
  if (prefix.length < 2) return [];
  return all.filter(({ uid, record }) => uid.startsWith(prefix) || record.sandboxes.some(({ id }) => id.startsWith(prefix)));
}

function theOne(found: readonly Found[], reference: string): Found {
  const [only] = found;
  if (only === undefined) throw new PodLookupError('not-found', `there is no pod ${JSON.stringify(reference)}`);
  if (found.length === 1) return only;
  const names = found.map(({ uid, record }) => `${record.sandboxes[0]?.namespace}/${record.sandboxes[0]?.name} (uid ${uid})`);
  throw new PodLookupError('ambiguous', `${JSON.stringify(reference)} can mean ${names.join(' or ')}`);
}
