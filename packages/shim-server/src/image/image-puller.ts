import type { AuthConfig } from '@criquet/cri-api';
import { isAlreadyExists, type Containerd, type Descriptor } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition, notFound } from '../errors.js';
import { ignoreNotFound } from '../runtime/already-gone.js';
import { WorkLeases } from '../runtime/work-leases.js';
import { Token } from '../tokens.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Rollback } from '../steps/rollback.js';
import type { StepOf } from '../steps/registry.js';
import { Steps } from '../steps/steps.js';
import { ImageIndex, type IndexedImage } from './image-index.js';
import { IMAGE_LABEL, PINNED_LABEL } from './image-labels.js';
import { ImageUnpacker } from './image-unpacker.js';
import { isUnpackConfigMissing, pullError, unusableImage } from './pull-error.js';
import { Quota } from '../state/quota.js';
import { Slots } from '../state/slots.js';
import { formatReference, parseReference, repository, type Reference } from './reference.js';
import { credentialsFor, registryToken, sameRegistry } from './registry-credentials.js';
import { registryHosts } from './registry-hosts.js';

export interface Pull {
  /** As the caller wrote it. */
  readonly reference: string;
  /** What the image is unpacked for. */
  readonly snapshotter: string;
  readonly auth?: AuthConfig;
  /** Whether garbage collection must leave the image alone. Default false. */
  readonly pinned?: boolean;
  readonly signal?: AbortSignal;
}

/** An image, and what its name stands for. */
interface Pulled {
  readonly image: IndexedImage;
  readonly target: Descriptor;
}

type PullSteps = Steps<StepOf<'PullImage'>>;

/** Pulls images through containerd's Transfer service and names them as CRI runtimes do: by tag, by digest, by id. */
@scoped(Lifecycle.ContainerScoped)
export class ImagePuller {
  private readonly slots: Slots;
  private readonly quota: Quota;
  /** The snapshotters that Transfer turned out not to unpack for. */
  private readonly notUnpackedFor = new Set<string>();

  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Logger) private readonly log: Logger,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(ImageIndex) private readonly images: ImageIndex,
    @inject(ImageUnpacker) private readonly unpacker: ImageUnpacker,
    @inject(WorkLeases) private readonly leases: WorkLeases,
  ) {
    const { maxParallelPulls, maxPulls } = config.image;
    this.slots = new Slots(maxParallelPulls);
    this.quota = new Quota({ limit: maxPulls, option: 'image.max_pulls', what: 'too many images are being pulled' });
  }

  /** @throws RESOURCE_EXHAUSTED when too many pulls wait already */
  async pull(pull: Pull): Promise<IndexedImage> {
    const release = this.quota.take();
    try {
      return await this.slots.run(pull.signal, () => this.pullNow(pull));
    } finally {
      release();
    }
  }

  private async pullNow({ reference: text, snapshotter, auth, pinned = false, signal }: Pull): Promise<IndexedImage> {
    const reference = parseReference(text);
    const name = formatReference(reference);
    const labels = { ...IMAGE_LABEL, ...(pinned || this.isPinned(name) ? PINNED_LABEL : {}) };
    const headers = await this.tokenHeaders(reference, auth);
    const lease = this.leases.name('pull');
    const log = this.log.child({ image: name });
    const steps = Steps.of('PullImage', this.failpoints, log);
    const undo = Rollback.of('PullImage', this.failpoints, log);
    try {
      await steps.do('lease what is pulled', async () => {
        undo.add('delete the lease', () => this.leases.end(lease));
        await this.leases.begin(lease);
      });
      await steps.do('transfer the image', () => this.transfer(name, snapshotter, lease, labels, headers, auth, signal));
      const image = await this.finish(reference, name, snapshotter, labels, steps, signal);
      // Behind the answer: by now the image's records keep what was pulled.
      void undo.run();
      return image;
    } catch (error) {
      await undo.run();
      throw error;
    }
  }

  private async transfer(
    name: string,
    snapshotter: string,
    lease: string,
    labels: Record<string, string>,
    headers: Record<string, string>,
    auth: AuthConfig | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const credentials = credentialsFor(auth);
    const { hostsDir, pullProgressTimeout } = this.config.image;
    const pull = (unpacked: boolean) =>
      this.containerd.transfer.pullImage(
        {
          reference: name,
          imageName: name,
          labels,
          lease,
          headers,
          noProgressTimeoutMs: pullProgressTimeout,
          ...(unpacked ? { snapshotter } : {}),
          ...(hostsDir === '' ? {} : { hostDir: hostsDir }),
          ...(credentials === undefined ? {} : { credentials }),
        },
        signal === undefined ? {} : { signal },
      );
    try {
      await pull(!this.notUnpackedFor.has(snapshotter)).catch((error: unknown) => {
        if (!isUnpackConfigMissing(error)) throw error;
        this.notUnpackedFor.add(snapshotter);
        this.log.warn({ snapshotter }, "containerd's transfer plugin has no unpack_config for the snapshotter: images are unpacked after their download, layer by layer");
        return pull(false);
      });
    } catch (error) {
      throw pullError(error, name);
    }
  }

  /** Checks that the image is whole for this platform, and gives it its other names. */
  private async finish(
    reference: Reference,
    name: string,
    snapshotter: string,
    labels: Record<string, string>,
    steps: PullSteps,
    signal: AbortSignal | undefined,
  ): Promise<IndexedImage> {
    const { image, target } = await this.requireUsable(name, snapshotter, steps, signal);
    await steps.do('name the image', async () => {
      const digestName = `${repository(reference)}@${target.digest}`;
      await Promise.all([digestName, image.id].map((alias) => this.alias(alias, target, labels)));
    });
    return this.images.find(name) ?? image;
  }

  /** Looks at what was pulled, and unpacks what is not. */
  private async requireUsable(name: string, snapshotter: string, steps: PullSteps, signal: AbortSignal | undefined): Promise<Pulled> {
    const pulled = await steps.do('read the image', () => this.orDiscard(name, () => this.read(name)));
    await steps.do('unpack the image', () =>
      this.orDiscard(name, async () => {
        if (!(await this.unpacker.holds(pulled.image, snapshotter))) await this.unpacker.unpack(pulled.image, snapshotter, signal);
      }),
    );
    return pulled;
  }

  private async read(name: string): Promise<Pulled> {
    const record = await this.images.refresh(name);
    const image = this.images.find(name);
    if (image === undefined || record === undefined) throw notFound('image', name);
    return { image, target: record.target };
  }

  /** An image that turns out not to be usable does not stay. */
  private async orDiscard<T>(name: string, deed: () => Promise<T>): Promise<T> {
    try {
      return await deed();
    } catch (error) {
      const unusable = unusableImage(error, name);
      if (unusable === undefined) throw error;
      await this.containerd.images.delete(name).catch(ignoreNotFound);
      await this.images.refresh(name);
      throw unusable;
    }
  }

  private async alias(name: string, target: Descriptor, labels: Record<string, string>): Promise<void> {
    const { images } = this.containerd;
    const record = await images.create({ name, target, labels }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
      return images.update({ name, target, labels }, ['target', 'labels']);
    });
    await this.images.adopt(record);
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
