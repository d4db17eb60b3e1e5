import type { CreateNetnsOptions, NetnsProvider } from '../netns/netns-provider.js';

/** Namespaces in memory only. */
export class FakeNetnsProvider implements NetnsProvider {
  /** The pins that are there, with the sysctls they were made with. */
  readonly pins = new Map<string, Readonly<Record<string, string>>>();
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
