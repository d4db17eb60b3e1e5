import type { Registry } from '../harness/registry.js';

/** The name of CoreDNS' image in a registry; undefined where it has none. */
export async function coreDnsImage({ url }: Registry): Promise<string | undefined> {
  const repository = 'coredns/coredns';
  const response = await fetch(`${url}/v2/${repository}/tags/list`);
  if (response.status === 404) return undefined;
  const { tags } = (await response.json()) as { tags: string[] | null };
  const [tag] = tags ?? [];
  return tag === undefined ? undefined : `registry.k8s.io/${repository}:${tag}`;
}
