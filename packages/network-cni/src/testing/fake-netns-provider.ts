import { once } from 'node:events';
import { connect } from 'node:net';
import { NetnsError, type CreateNetnsOptions, type NetnsConnection, type NetnsProvider, type NetnsUserns } from '../netns/netns-provider.js';

/** Namespaces in memory only. Replace a method to make it fail. */
export class FakeNetnsProvider implements NetnsProvider {
  /** The pins that are there, with the sysctls they were made with. */
  readonly pins = new Map<string, Readonly<Record<string, string>>>();

  /** The user namespaces by the path of their pin, which is among {@link pins} too. */
  readonly userns = new Map<string, NetnsUserns>();

  async create(path: string, options: CreateNetnsOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (this.pins.has(path)) throw new NetnsError('create the pin', path, 'EEXIST', 'file already exists');
    this.pins.set(path, options.sysctls ?? {});
    if (options.userns !== undefined) {
      this.pins.set(options.userns.path, {});
      this.userns.set(options.userns.path, options.userns);
    }
    await Promise.resolve();
  }

  async release(path: string): Promise<void> {
    this.pins.delete(path);
    this.userns.delete(path);
    await Promise.resolve();
  }

  exists(path: string): Promise<boolean> {
    return Promise.resolve(this.pins.has(path));
  }

  /** Ports of all namespaces are those of the machine. */
  async connect(path: string | undefined, port: number): Promise<NetnsConnection> {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    try {
      await once(socket, 'connect');
    } catch (cause) {
      const { code = '', message } = cause as NodeJS.ErrnoException;
      throw new NetnsError(`connect to 127.0.0.1:${port}`, path ?? '', code, message, { cause });
    }
    return { input: socket, output: socket };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
