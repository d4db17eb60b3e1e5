import type { AuthConfig, Image } from '@criquet/cri-api';
import { withDefaultTag } from '../manifest/image-reference.js';
import type { Container, Manifest } from '../manifest/pod.js';
import { sandboxConfig, type TranslationOptions } from '../translate/sandbox-config.js';
import { pullCredentials } from '../translate/pull-credentials.js';
import type { ImageUser } from '../translate/security-context.js';
import type { CriCalls } from './cri-calls.js';

/** An image that the runtime has. */
export interface PresentImage {
  /** What CreateContainer is given: the runtime's own id of the image. */
  readonly ref: string;
  readonly user: ImageUser;
}

/** The image is absent and may not be pulled (`imagePullPolicy: Never`). */
export class NeverPullError extends Error {
  override readonly name = 'NeverPullError';
}

/** Makes sure by the container's pull policy that the runtime has its image. */
export async function ensureImage(
  manifest: Manifest,
  container: Container,
  sandboxAttempt: number,
  options: TranslationOptions,
  calls: CriCalls,
): Promise<PresentImage> {
  const spec = imageSpec(manifest, container);
  const status = async (image: string) => (await calls.image('imageStatus', image, { image: { ...spec, image } })).image;
  const before = container.imagePullPolicy === 'Always' ? undefined : await status(spec.image);
  if (before !== undefined) return present(before, before.id);
  if (container.imagePullPolicy === 'Never') {
    throw new NeverPullError(`image ${spec.image} is not present and imagePullPolicy is Never`);
  }
  const config = sandboxConfig(manifest.pod, sandboxAttempt, options);
  const pull = (auth: AuthConfig | undefined) =>
    calls.image('pullImage', spec.image, { image: spec, sandboxConfig: config, ...(auth === undefined ? {} : { auth }) }, null);
  const { imageRef } = await firstSuccess(pullCredentials(manifest, spec.image), pull);
  return present(await status(imageRef), imageRef);
}

function imageSpec(manifest: Manifest, container: Container) {
  const runtimeHandler = manifest.pod.spec.runtimeClassName ?? '';
  return { image: withDefaultTag(container.image), userSpecifiedImage: container.image, runtimeHandler, annotations: {} };
}

function present(image: Image | undefined, ref: string): PresentImage {
  return { ref, user: { uid: image?.uid?.value, username: image?.username ?? '' } };
}

/** Tries each of several credentials for a registry, as the kubelet does; without any, once without. */
async function firstSuccess<T>(credentials: readonly AuthConfig[], attempt: (auth: AuthConfig | undefined) => Promise<T>): Promise<T> {
  let failure: unknown;
  for (const auth of credentials.length === 0 ? [undefined] : credentials) {
    try {
      return await attempt(auth);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
