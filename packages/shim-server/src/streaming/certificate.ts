import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { CriquetConfig } from '../config/index.js';

/** A certificate and its key, PEM. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** @throws Error when TLS is on without its files */
export function requireCertificate({ enableTls, certFile, keyFile }: CriquetConfig['streaming']): void {
  if (enableTls && (certFile === '' || keyFile === '')) {
    throw new Error('streaming.enable_tls needs streaming.cert_file and streaming.key_file');
  }
}

const CHECK_MS = 5_000;

/** Reads certificate and key and follows their files: renewed ones are used for connections made after that, broken ones are not. */
export class CertificateFiles {
  private stamp = '';
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly certFile: string,
    private readonly keyFile: string,
  ) {}

  /** @throws Error naming the file that cannot be read, or saying that the two do not fit */
  async read(): Promise<KeyPair> {
    this.stamp = await this.currentStamp();
    // In turn: of two that cannot be read the same one is named each time.
    const cert = await readPem('cert_file', this.certFile);
    const key = await readPem('key_file', this.keyFile);
    try {
      createSecureContext({ cert, key });
    } catch (error) {
      throw new Error(`streaming.cert_file ${this.certFile}, streaming.key_file ${this.keyFile}: ${(error as Error).message}`, { cause: error });
    }
    return { cert, key };
  }

  /** Looks every few seconds, which also sees links that are switched, as Kubernetes does with mounted secrets. */
  watch(changed: (pair: KeyPair) => void, failed: (error: Error) => void): void {
    let busy = false;
    this.timer = setInterval(() => {
      if (busy) return;
      busy = true;
      this.refresh(changed)
        .catch((error: unknown) => failed(error as Error))
        .finally(() => (busy = false));
    }, CHECK_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async refresh(changed: (pair: KeyPair) => void): Promise<void> {
    if ((await this.currentStamp()) === this.stamp) return;
    changed(await this.read());
  }

  private async currentStamp(): Promise<string> {
    const stats = await Promise.all([this.certFile, this.keyFile].map((file) => stat(file).catch(() => undefined)));
    return stats.map((found) => (found === undefined ? 'absent' : `${found.ino} ${found.size} ${found.mtimeMs}`)).join(', ');
  }
}

async function readPem(key: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new Error(`streaming.${key} ${file}: ${(error as NodeJS.ErrnoException).code}`, { cause: error });
  }
}
