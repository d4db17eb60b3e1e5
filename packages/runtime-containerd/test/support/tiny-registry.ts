import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FakeImage } from '../../src/testing/index.js';

/** A registry on a loopback port that serves given images by `repo:tag` and can be told to misbehave. */
export class TinyRegistry {
  private readonly tags = new Map<string, FakeImage>();
  private server: Server | undefined;
  /** `user:password` that it insists on. */
  basic: string | undefined;
  /** Answers blobs of this digest with a head and then nothing. */
  hangBlob: string | undefined;
  /** Answers nothing at all. */
  hangAll = false;
  readonly requests: string[] = [];

  async start(): Promise<this> {
    this.server = createServer((request, response) => this.answer(request, response));
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get host(): string {
    return `127.0.0.1:${(this.server?.address() as AddressInfo).port}`;
  }

  set(name: string, image: FakeImage): void {
    this.tags.set(name, image);
  }

  async close(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = request.url ?? '';
    this.requests.push(`${request.method} ${url}`);
    if (this.hangAll) return;
    if (this.basic !== undefined && request.headers.authorization !== `Basic ${Buffer.from(this.basic).toString('base64')}`) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="tiny"' }).end();
      return;
    }
    const [, repo = '', kind = '', reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
    const images = [...this.tags].filter(([name]) => name.startsWith(`${repo}:`)).map(([, image]) => image);
    const digest = kind === 'manifests' && !reference.startsWith('sha256:') ? this.tags.get(`${repo}:${reference}`)?.target.digest : reference;
    const blob = images.flatMap((image) => image.blobs).find((candidate) => candidate.digest === digest);
    if (blob === undefined) {
      response.writeHead(404).end();
      return;
    }
    const mediaType = kind === 'manifests' ? (JSON.parse(blob.data.toString()) as { mediaType: string }).mediaType : 'application/octet-stream';
    response.writeHead(200, { 'content-type': mediaType, 'content-length': blob.data.length, 'docker-content-digest': blob.digest });
    if (request.method === 'HEAD') response.end();
    else if (blob.digest === this.hangBlob) response.write(blob.data.subarray(0, 1));
    else response.end(blob.data);
  }
}
