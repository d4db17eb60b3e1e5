import { randomBytes } from 'node:crypto';
import type { AuthConfig } from '@criquet/cri-api';
import { isAlreadyExists, isNotFound, leaseExpireLabel, type Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition, notFound } from '../errors.js';
import { ignoreNotFound } from '../runtime/already-gone.js';
import { Token } from '../tokens.js';
import { ImageIndex, type IndexedImage } from './image-index.js';
import { IMAGE_LABEL, PINNED_LABEL } from './image-labels.js';
import { notUnpacked, pullError, unusableImage } from './pull-error.js';
import { Slots } from '../state/slots.js';
import { formatReference, parseReference, repository, type Reference } from './reference.js';
import { credentialsFor, registryToken, sameRegistry } from './registry-credentials.js';
import { registryHosts } from './registry-hosts.js';

export interface Pull {
  /** As the caller wrote it. */
  readonly reference: string;
  readonly auth?: AuthConfig;
  /** Whether garbage collection must leave the image alone. Default false. */
  readonly pinned?: boolean;
  readonly signal?: AbortSignal;
}

/** A lease outlives a pull that nobody can end any more by this long. */
const LEASE_HOURS = 24;

/** Pulls images through containerd's Transfer service and names them as CRI runtimes do: by tag, by digest, by id. */
@scoped(Lifecycle.ContainerScoped)
export class ImagePuller {
  private readonly slots: Slots;

  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(ImageIndex) private readonly images: ImageIndex,
  ) {
    this.slots = new Slots(config.image.maxParallelPulls);
  }

  pull(pull: Pull): Promise<IndexedImage> {
    return this.slots.run(pull.signal, () => this.pullNow(pull));
  }

  private async pullNow({ reference: text, auth, pinned = false, signal }: Pull): Promise<IndexedImage> {
    const reference = parseReference(text);
    const name = formatReference(reference);
    const labels = { ...IMAGE_LABEL, ...(pinned || this.isPinned(name) ? PINNED_LABEL : {}) };
    const headers = await this.tokenHeaders(reference, auth);
    const lease = `criquet-pull-${randomBytes(8).toString('hex')}`;
    try {
      await this.containerd.leases.create({ id: lease, labels: { [leaseExpireLabel]: leaseEnd() } });
      await this.transfer(name, lease, labels, headers, auth, signal);
      return await this.finish(reference, name, labels);
    } finally {
      // One that cannot be deleted now expires by itself; it says nothing of the pull.
      await this.containerd.leases.delete(lease).catch(() => undefined);
    }
  }

  private async transfer(
    name: string,
    lease: string,
    labels: Record<string, string>,
    headers: Record<string, string>,
    auth: AuthConfig | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const credentials = credentialsFor(auth);
    const { hostsDir, pullProgressTimeout } = this.config.image;
    try {
      await this.containerd.transfer.pullImage(
        {
          reference: name,
          imageName: name,
          labels,
          snapshotter: this.config.containerd.snapshotter,
          lease,
          headers,
          noProgressTimeoutMs: pullProgressTimeout,
          ...(hostsDir === '' ? {} : { hostDir: hostsDir }),
          ...(credentials === undefined ? {} : { credentials }),
        },
        signal === undefined ? {} : { signal },
      );
    } catch (error) {
      throw pullError(error, name, this.config.containerd.snapshotter);
    }
  }

  /** Checks that the image is whole for this platform, and gives it its other names. */
  private async finish(reference: Reference, name: string, labels: Record<string, string>): Promise<IndexedImage> {
    const image = await this.requireUsable(name);
    const { target } = await this.containerd.images.get(name);
    const digestName = `${repository(reference)}@${target.digest}`;
    await Promise.all([digestName, image.id].map((alias) => this.alias(alias, target, labels)));
    return this.images.find(name) ?? image;
  }

  /** Looks at what was pulled; an image that cannot be used does not stay. */
  private async requireUsable(name: string): Promise<IndexedImage> {
    const { images, snapshots } = this.containerd;
    const { snapshotter } = this.config.containerd;
    try {
      await this.images.refresh(name);
      const image = this.images.find(name);
      if (image === undefined) throw notFound('image', name);
      if (image.chainId !== '') await snapshots.stat(snapshotter, image.chainId);
      return image;
    } catch (error) {
      const unusable = isNotFound(error) ? notUnpacked(name, snapshotter) : unusableImage(error, name);
      if (unusable === undefined) throw error;
      await images.delete(name).catch(ignoreNotFound);
      await this.images.refresh(name);
      throw unusable;
    }
  }

  private async alias(name: string, target: Parameters<Containerd['images']['create']>[0]['target'], labels: Record<string, string>) {
    try {
      await this.containerd.images.create({ name, target, labels });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      await this.containerd.images.update({ name, target, labels }, ['target', 'labels']);
    }
    await this.images.refresh(name);
  }

  private isPinned(name: string): boolean {
    return this.images.find(name)?.pinned ?? false;
  }

  /** A registry token goes out with every request, so it is used only where no other host than its own is configured. */
  private async tokenHeaders(reference: Reference, auth: AuthConfig | undefined): Promise<Record<string, string>> {
    const token = registryToken(auth);
    if (token === undefined) return {};
    const hosts = await registryHosts(this.config.image.hostsDir, reference.domain);
    const foreign = hosts.find((host) => !sameRegistry(host, reference.domain));
    if (foreign !== undefined) {
      throw failedPrecondition(`auth.registry_token is for ${reference.domain}, but hosts.toml sends its pulls to ${foreign} as well`);
    }
    return { authorization: `Bearer ${token}` };
  }
}

/** RFC 3339, as containerd reads it. */
function leaseEnd(): string {
  return new Date(Date.now() + LEASE_HOURS * 3_600_000).toISOString();
}
