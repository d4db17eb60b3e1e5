import type { Mount } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { removeMountPoints } from '../runtime/mount-point.js';
import { readSnapshot } from '../runtime/snapshot-reader.js';
import { resolveUser, type ResolvedUser, type UserRequest } from '../spec/index.js';
import type { Layout } from '../state/layout.js';
import { Token } from '../tokens.js';
import { makeDirectories } from '../runtime/make-directories.js';

/** How many answers are kept; each is a few numbers. */
const MAX_KEPT = 1_000;

/**
 * Who a container runs as. The names are looked up in the root file system, which for a container that has not run yet is its
 * image: one look an image and request is enough.
 */
@scoped(Lifecycle.ContainerScoped)
export class ImageUsers {
  private readonly kept = new Map<string, ResolvedUser>();

  constructor(@inject(Token.Layout) private readonly layout: Layout) {}

  /** Takes away what a daemon that was killed while it looked has left mounted. */
  async tidy(): Promise<void> {
    await removeMountPoints(this.layout.lookup);
  }

  /** What an earlier container of the same image was told; undefined when nobody asked. */
  known(chainId: string, request: UserRequest): ResolvedUser | undefined {
    return this.kept.get(key(chainId, request));
  }

  /** Looks into a snapshot of the image. @throws ShimError when the user does not exist or its number is out of range */
  async resolve(chainId: string, request: UserRequest, snapshot: readonly Mount[]): Promise<ResolvedUser> {
    await makeDirectories(this.layout.lookup, 0o700);
    const user = await readSnapshot(snapshot, this.layout.lookup, (root) => resolveUser(root, request));
    if (this.kept.size >= MAX_KEPT) this.kept.clear();
    this.kept.set(key(chainId, request), user);
    return user;
  }
}

function key(chainId: string, request: UserRequest): string {
  return `${chainId} ${JSON.stringify(request, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`;
}
