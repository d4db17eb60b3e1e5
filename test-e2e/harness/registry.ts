import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Daemon } from './daemon.js';
import { freePort } from './free-port.js';

export interface RegistryOptions {
  /** The `docker-registry` program. */
  readonly program: string;
  /** Directory of its repositories. Several registries may serve one that is not written. */
  readonly storage: string;
  /** Where its configuration, log and pid file go. */
  readonly directory: string;
  /** Default: false, pushes are refused. */
  readonly writable?: boolean;
  /** Address that it listens on. Default: 127.0.0.1. */
  readonly address?: string;
}

export interface Registry {
  readonly url: string;
  readonly daemon: Daemon;
}

/** Starts a registry on a free port. */
export async function startRegistry(options: RegistryOptions): Promise<Registry> {
  const address = options.address ?? '127.0.0.1';
  const port = await freePort(address);
  const url = `http://${address}:${port}`;
  const config = {
    version: '0.1',
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: {
      filesystem: { rootdirectory: options.storage },
      maintenance: { uploadpurging: { enabled: false }, readonly: { enabled: options.writable !== true } },
    },
    http: { addr: `${address}:${port}` },
  };
  const file = join(options.directory, 'registry.yml');
  // Its configuration is YAML, of which JSON is a part.
  await writeFile(file, JSON.stringify(config, null, 2));
  const daemon = await Daemon.start({
    name: 'registry',
    program: options.program,
    args: ['serve', file],
    env: { OTEL_TRACES_EXPORTER: 'none' },
    directory: options.directory,
    ready: async () => {
      const response = await fetch(`${url}/v2/`);
      if (!response.ok) throw new Error(`${url}/v2/: ${response.status}`);
    },
  });
  return { url, daemon };
}
