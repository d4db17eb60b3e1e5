import type { CreateNetnsOptions, NetnsProvider } from './netns-provider.js';

export interface NetnsThreadOptions {
  /** Milliseconds after which a request fails though the kernel has not answered. Default 30,000. */
  readonly timeoutMs?: number;
  /** The worker's module, for bundles that lay it elsewhere. Default: beside this module. */
  readonly workerUrl?: URL;
}

export class NetnsThread implements NetnsProvider {
  constructor(readonly options: NetnsThreadOptions = {}) {}
  create(_path: string, _options?: CreateNetnsOptions): Promise<void> {
    throw new Error('to follow');
  }
  release(_path: string): Promise<void> {
    throw new Error('to follow');
  }
  exists(_path: string): Promise<boolean> {
    throw new Error('to follow');
  }
  close(): Promise<void> {
    throw new Error('to follow');
  }
}
