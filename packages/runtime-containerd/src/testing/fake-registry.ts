import type { status } from '@grpc/grpc-js';
import type { AuthType } from '../gen/types/transfer/registry.js';
import type { FakeImage } from './fake-image.js';

/** What a pull of a reference meets. */
export interface FakePullable {
  readonly image: FakeImage;
  /** Ask the client for credentials of this host first; `accepts` decides (default: any but none). */
  readonly auth?: { readonly host: string; readonly accepts?: (answer: FakeAuthAnswer) => boolean };
  /** Fail so instead, after the questions for credentials. */
  readonly error?: { readonly code: status; readonly details: string };
  /**
   * Where the pull stops until the client cancels or `FakeRegistry.release` is called: while resolving, while the layer waits for a
   * download slot, while it downloads, or while it is unpacked.
   */
  readonly stall?: 'resolving' | 'waiting' | 'downloading' | 'unpacking';
  /** Milliseconds the layer takes, with a progress message each tenth. Default 0. */
  readonly layerMs?: number;
  /** As a pull of an index without the platform: the record and nothing else. */
  readonly withoutPlatform?: boolean;
}

export interface FakeAuthAnswer {
  readonly authType: AuthType;
  readonly username: string;
  readonly secret: string;
}

/** What the transfer service can pull, by reference. Anything else is answered with NOT_FOUND, as a 404 of a registry. */
export class FakeRegistry {
  private readonly pullables = new Map<string, FakePullable>();
  private release_: () => void = () => undefined;
  private released = this.nextRelease();

  set(reference: string, pullable: FakePullable): void {
    this.pullables.set(reference, pullable);
  }

  get(reference: string): FakePullable | undefined {
    return this.pullables.get(reference);
  }

  delete(reference: string): void {
    this.pullables.delete(reference);
  }

  /** Lets the pulls go on that are stalled now. */
  release(): void {
    this.release_();
    this.released = this.nextRelease();
  }

  /** @internal */
  get nextReleased(): Promise<void> {
    return this.released;
  }

  private nextRelease(): Promise<void> {
    return new Promise((resolve) => {
      this.release_ = resolve;
    });
  }
}
