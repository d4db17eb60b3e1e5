import { NetnsError, type CreateNetnsOptions, type NetnsProvider } from '../netns/netns-provider.js';

/** Namespaces in memory only. Replace a method to make it fail. */
export class FakeNetnsProvider implements NetnsProvider {
  /** The pins that are there, with the sysctls they were made with. */
  readonly pins = new Map<string, Readonly<Record<string, string>>>();

  async create(path: string, options: CreateNetnsOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (this.pins.has(path)) throw new NetnsError('create the pin', path, 'EEXIST', 'file already exists');
    this.pins.set(path, options.sysctls ?? {});
    await Promise.resolve();
  }

  async release(path: string): Promise<void> {
    this.pins.delete(path);
    await Promise.resolve();
  }

  exists(path: string): Promise<boolean> {
    return Promise.resolve(this.pins.has(path));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
