import { setTimeout as pause } from 'node:timers/promises';
import { startAnsweringRegistry, type AnsweringRegistry } from '../harness/answering-registry.js';
import { patience } from '../harness/environment.js';
import type { TestNode } from '../harness/node.js';

const CHUNK_BYTES = 64 * 1024;
const PASSED_ON = /^(?:content-type|docker-.*|etag)$/;

/** The node's own registry, with blobs that come in pieces and pauses between these. */
export function startSlowRegistry(node: TestNode, pauseMs: number): Promise<AnsweringRegistry> {
  return startAnsweringRegistry((request, response) => {
    const pass = async () => {
      const { accept = '*/*', range } = request.headers;
      const answer = await fetch(new URL(request.url ?? '/', node.registry.url), { method: request.method ?? 'GET', headers: { accept, ...(range === undefined ? {} : { range }) } });
      const body = Buffer.from(await answer.arrayBuffer());
      const headers = [...answer.headers].filter(([name]) => PASSED_ON.test(name) || name === 'content-range');
      const length = request.method === 'HEAD' ? (answer.headers.get('content-length') ?? '0') : String(body.length);
      response.writeHead(answer.status, { ...Object.fromEntries(headers), 'content-length': length });
      for (let at = 0; at < body.length && !response.destroyed; at += CHUNK_BYTES) {
        response.write(body.subarray(at, at + CHUNK_BYTES));
        await pause(patience(pauseMs));
      }
      response.end();
    };
    pass().catch(() => response.destroy());
  });
}
