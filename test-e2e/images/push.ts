import type { Blob, OciImage } from './oci-image.js';

/**
 * Pushes an image under one reference, by the OCI distribution API: absent blobs first, then the manifests.
 *
 * @param registry base URL, for example `http://127.0.0.1:5000`
 * @param repository path without the registry's host, for example `e2e-test-images/busybox`
 * @returns the digest that the tag names
 */
export async function pushImage(registry: string, repository: string, tag: string, image: OciImage): Promise<string> {
  for (const blob of image.blobs) await pushBlob(registry, repository, blob);
  let last = '';
  for (const [index, manifest] of image.manifests.entries()) {
    const name = index === image.manifests.length - 1 ? tag : manifest.digest;
    await expectOk(
      fetch(`${registry}/v2/${repository}/manifests/${name}`, {
        method: 'PUT',
        headers: { 'content-type': manifest.mediaType },
        body: manifest.content,
      }),
    );
    last = manifest.digest;
  }
  return last;
}

async function pushBlob(registry: string, repository: string, blob: Blob): Promise<void> {
  const present = await fetch(`${registry}/v2/${repository}/blobs/${blob.digest}`, { method: 'HEAD' });
  if (present.ok) return;
  const begun = await expectOk(fetch(`${registry}/v2/${repository}/blobs/uploads/`, { method: 'POST' }));
  const location = begun.headers.get('location');
  if (location === null) throw new Error(`${registry}: no upload location for ${repository}`);
  const target = new URL(location, registry);
  target.searchParams.set('digest', blob.digest);
  await expectOk(
    fetch(target, { method: 'PUT', headers: { 'content-type': 'application/octet-stream' }, body: blob.content }),
  );
}

async function expectOk(pending: Promise<Response>): Promise<Response> {
  const response = await pending;
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`);
  return response;
}
