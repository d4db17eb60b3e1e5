import { ImageIncomplete, isNotFound, resolveImage, type Containerd, type ImageConfig, type ImageRecord, type ResolvedImage } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { EventStream } from '../runtime/event-stream.js';
import { KeyedMutex } from '../state/keyed-mutex.js';
import { Token } from '../tokens.js';
import { asImageId, formatReference, repository, tryParseReference } from './reference.js';
import { isPinned } from './image-labels.js';

/** An image as CRI knows it: everything that goes by one config digest. */
export interface IndexedImage {
  /** Digest of the config. */
  readonly id: string;
  /** The containerd image record that was seen first; what a container's record names. */
  readonly name: string;
  /** Sorted. */
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  /** Compressed bytes. */
  readonly size: bigint;
  readonly pinned: boolean;
  readonly config: ImageConfig;
  /** Key of the snapshot that containers are made on. */
  readonly chainId: string;
  /** Of the manifest. */
  readonly annotations: Readonly<Record<string, string>>;
}

type Resolved = Pick<IndexedImage, 'id' | 'size' | 'config' | 'chainId' | 'annotations'> & { readonly target: string; readonly pinned: boolean };

/**
 * The images of this node, by containerd's records and kept up to date by its events, whoever made or removed the image. A record
 * whose content is not whole, or that no container can be made of, is not shown: a new pull heals it.
 */
@scoped(Lifecycle.ContainerScoped)
export class ImageIndex {
  /** By the name of the containerd record. */
  private readonly byName = new Map<string, Resolved>();
  private readonly byId = new Map<string, Set<string>>();
  /** What {@link image} put together, until one of its names changes. */
  private readonly images = new Map<string, IndexedImage>();
  private readonly refreshing = new KeyedMutex();

  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Logger) private readonly log: Logger,
    @inject(EventStream) events: EventStream,
  ) {
    events.on('image', (event) => void this.refresh(event.name).catch(this.logFailure(event.name)));
    events.on('resync', () => void this.load().catch(this.logFailure('all')));
  }

  /** Looks at all of containerd's image records, and at those that were there. */
  async load(): Promise<void> {
    const records = await this.containerd.images.list([]);
    const names = new Set([...records.map((record) => record.name), ...this.byName.keys()]);
    await Promise.all([...names].map((name) => this.refresh(name).catch(this.logFailure(name))));
  }

  /** Looks at one record again, never twice at once: what is found later is newer. Nothing where there is no such record. */
  refresh(name: string): Promise<ImageRecord | undefined> {
    return this.refreshing.run(name, undefined, async () => {
      try {
        const record = await this.containerd.images.get(name);
        await this.take(record);
        return record;
      } catch (error) {
        if (!isNotFound(error)) throw error;
        this.forget(name);
        return undefined;
      }
    });
  }

  /** Takes a record that was written just now. */
  async adopt(record: ImageRecord): Promise<void> {
    await this.refreshing.run(record.name, undefined, () => this.take(record));
  }

  /** Reads an image anew that has turned out not to be whole; nothing tells when somebody removes a part. */
  async reread(name: string): Promise<void> {
    const { id } = this.byName.get(name) ?? {};
    const names = id === undefined ? [name] : this.names(id);
    for (const each of names) this.forget(each);
    await Promise.all(names.map((each) => this.refresh(each).catch(this.logFailure(each))));
  }

  all(): IndexedImage[] {
    return [...this.byId.keys()].map((id) => this.image(id)).filter((image) => image !== undefined);
  }

  /** By id, by an unambiguous beginning of one (at least 12 digits), or by any form of reference. */
  find(text: string): IndexedImage | undefined {
    const id = asImageId(text);
    if (id !== undefined) return this.image(id);
    const reference = tryParseReference(text);
    const named = reference === undefined ? undefined : this.byName.get(formatReference(reference));
    if (named !== undefined) return this.image(named.id);
    if (reference?.digest !== undefined) {
      const name = `${repository(reference)}@${reference.digest}`;
      return this.all().find((image) => image.repoDigests.includes(name));
    }
    return this.byIdPrefix(text);
  }

  /** The names of all containerd records of an image. */
  names(id: string): string[] {
    return [...(this.byId.get(id) ?? [])];
  }

  private byIdPrefix(text: string): IndexedImage | undefined {
    if (!/^(?:sha256:)?[0-9a-f]{12,}$/.test(text)) return undefined;
    const prefix = text.startsWith('sha256:') ? text : `sha256:${text}`;
    const matches = [...this.byId.keys()].filter((id) => id.startsWith(prefix));
    return matches.length === 1 && matches[0] !== undefined ? this.image(matches[0]) : undefined;
  }

  private image(id: string): IndexedImage | undefined {
    const known = this.images.get(id) ?? this.assemble(id);
    if (known !== undefined) this.images.set(id, known);
    return known;
  }

  private assemble(id: string): IndexedImage | undefined {
    const names = this.names(id);
    const resolved = names.map((name) => this.byName.get(name)).filter((entry) => entry !== undefined);
    const first = resolved[0];
    if (first === undefined) return undefined;
    const repoTags = new Set<string>();
    const repoDigests = new Set<string>();
    for (const name of names) {
      const reference = asImageId(name) === undefined ? tryParseReference(name) : undefined;
      const target = this.byName.get(name)?.target;
      if (reference === undefined || target === undefined) continue;
      if (reference.digest === undefined) repoTags.add(formatReference(reference));
      repoDigests.add(`${repository(reference)}@${reference.digest ?? target}`);
    }
    return {
      id,
      name: names.find((name) => asImageId(name) === undefined) ?? names[0] ?? id,
      repoTags: [...repoTags].sort(),
      repoDigests: [...repoDigests].sort(),
      size: first.size,
      pinned: resolved.some((entry) => entry.pinned),
      config: first.config,
      chainId: first.chainId,
      annotations: first.annotations,
    };
  }

  private async take(record: ImageRecord): Promise<void> {
    const { name, target } = record;
    const known = this.byName.get(name) ?? this.byTarget(target.digest);
    const pinned = isPinned(record.labels);
    if (known?.target === target.digest) {
      this.put(name, { ...known, pinned });
      return;
    }
    try {
      const resolved = await resolveImage(this.containerd.content, target);
      await this.requireUsable(resolved, target.digest);
      this.put(name, {
        id: resolved.configDigest,
        size: resolved.size,
        config: resolved.config,
        chainId: resolved.chainId,
        annotations: resolved.manifest.annotations ?? {},
        target: target.digest,
        pinned,
      });
    } catch (error) {
      this.forget(name);
      throw error;
    }
  }

  /** Unpacked, or with all layers that an unpacking needs. @throws ImageIncomplete */
  private async requireUsable({ chainId, layers }: ResolvedImage, target: string): Promise<void> {
    const { content, snapshots } = this.containerd;
    const { containerd, runtime } = this.config;
    const snapshotters = new Set([containerd.snapshotter, ...Object.values(runtime.handlers).map(({ snapshotter }) => snapshotter)]);
    if (chainId === '') return;
    for (const snapshotter of snapshotters) if (snapshotter !== '' && (await isThere(snapshots.stat(snapshotter, chainId)))) return;
    for (const { digest } of layers) if (!(await isThere(content.info(digest)))) throw new ImageIncomplete(target, digest);
  }

  private byTarget(digest: string): Resolved | undefined {
    for (const entry of this.byName.values()) if (entry.target === digest) return entry;
    return undefined;
  }

  private put(name: string, resolved: Resolved): void {
    if (this.byName.get(name)?.id !== resolved.id) this.forget(name);
    this.byName.set(name, resolved);
    this.images.delete(resolved.id);
    const names = this.byId.get(resolved.id) ?? new Set();
    this.byId.set(resolved.id, names.add(name));
  }

  private forget(name: string): void {
    const known = this.byName.get(name);
    if (known === undefined) return;
    this.byName.delete(name);
    this.images.delete(known.id);
    const names = this.byId.get(known.id);
    names?.delete(name);
    if (names?.size === 0) this.byId.delete(known.id);
  }

  private logFailure(name: string): (error: unknown) => void {
    return (error) => this.log.warn({ image: name, err: (error as Error).message }, 'image cannot be read');
  }
}

async function isThere(look: Promise<unknown>): Promise<boolean> {
  try {
    await look;
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
